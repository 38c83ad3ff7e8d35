#!/usr/bin/env python3
"""Prints what VTK's own reader, or h5py, finds in a state file: one value a line with 17 digits, in the order of the cells,
or at some cells alone.

  vtk_values.py hdf FILE ARRAY              /VTKHDF (vtkHDFReader)
  vtk_values.py hdf-at FILE ARRAY X,Y ...
  vtk_values.py h5py-at FILE DATASET X,Y ...
"""
import sys


def say(value):
    print("%.17g" % value)


def main():
    what, path, name, *places = sys.argv[1:]
    cells = [tuple(map(int, word.split(","))) for word in places]
    if what == "h5py-at":
        import h5py
        with h5py.File(path, "r") as file:
            for x, y in cells:
                say(file[name][y, x])
        return
    from vtkmodules.vtkIOHDF import vtkHDFReader
    found = vtkHDFReader()
    if not found.CanReadFile(path):
        sys.exit(f"{path}: the reader cannot read it")
    found.SetFileName(path)
    found.Update()
    image = found.GetOutputDataObject(0)
    array = image.GetPointData().GetArray(name)
    for i in [image.ComputePointId((x, y, 0)) for x, y in cells] or range(array.GetNumberOfTuples()):
        say(array.GetTuple1(i))


if __name__ == "__main__":
    main()
