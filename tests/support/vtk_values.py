#!/usr/bin/env python3
"""Prints what VTK's own readers, or h5py, find in a file: one value a line with 17 digits, in the order of the cells, or
at some cells alone.

  vtk_values.py hdf FILE ARRAY              /VTKHDF of a state file (vtkHDFReader)
  vtk_values.py xdmf FILE ARRAY [TIME]      a description or a series (vtkXdmfReader)
  vtk_values.py times FILE                  the times that a series has
  vtk_values.py hdf-at|xdmf-at FILE ARRAY X,Y ...
  vtk_values.py h5py-at FILE DATASET X,Y ...
"""
import sys


def reader(kind, path):
    if kind == "hdf":
        from vtkmodules.vtkIOHDF import vtkHDFReader as make
    else:
        from vtkmodules.vtkIOXdmf2 import vtkXdmfReader as make
    found = make()
    if not found.CanReadFile(path):
        sys.exit(f"{path}: the reader cannot read it")
    found.SetFileName(path)
    return found


def times(found):
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as pipeline
    found.UpdateInformation()
    return found.GetOutputInformation(0).Get(pipeline.TIME_STEPS()) or ()


def array_of(kind, image, name):
    """The field and the index of a cell in it: a value is a point's in /VTKHDF, a cell's where the .xmf describes it."""
    if kind == "hdf":
        return image.GetPointData().GetArray(name), lambda x, y: image.ComputePointId((x, y, 0))
    columns = image.GetDimensions()[0] - 1
    return image.GetCellData().GetArray(name), lambda x, y: y * columns + x


def say(value):
    print("%.17g" % value)


def main():
    what, path, *rest = sys.argv[1:]
    kind, _, places = what.partition("-")
    if what == "times":
        print(*(f"{t:g}" for t in times(reader("xdmf", path))))
        return
    cells = [tuple(map(int, word.split(","))) for word in rest[1:]] if places else []
    if kind == "h5py":
        import h5py
        with h5py.File(path, "r") as file:
            for x, y in cells:
                say(file[rest[0]][y, x])
        return
    found = reader(kind, path)
    if len(rest) > 1 and not places:
        times(found)
        found.UpdateTimeStep(float(rest[1]))
    else:
        found.Update()
    array, index = array_of(kind, found.GetOutputDataObject(0), rest[0])
    for i in [index(x, y) for x, y in cells] if places else range(array.GetNumberOfTuples()):
        say(array.GetTuple1(i))


if __name__ == "__main__":
    main()
