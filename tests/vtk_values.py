#!/usr/bin/env python3
"""Prints what VTK's own reader finds in a file, one value a line with 17 digits, in the order of the cells.

  vtk_values.py hdf FILE ARRAY           /VTKHDF of a state file (vtkHDFReader)
  vtk_values.py xdmf FILE ARRAY [TIME]   a description or a series (vtkXdmfReader)
  vtk_values.py times FILE               the times that a series has

Exit status 77: this VTK has no such reader.
"""
import sys


def reader(kind, path):
    try:
        if kind == "hdf":
            from vtkmodules.vtkIOHDF import vtkHDFReader as make
        else:
            from vtkmodules.vtkIOXdmf2 import vtkXdmfReader as make
    except ImportError as error:
        print(error)
        sys.exit(77)
    found = make()
    if not found.CanReadFile(path):
        sys.exit(f"{path}: the reader cannot read it")
    found.SetFileName(path)
    return found


def times(found):
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as pipeline
    found.UpdateInformation()
    return found.GetOutputInformation(0).Get(pipeline.TIME_STEPS()) or ()


def main():
    what, path = sys.argv[1:3]
    if what == "times":
        print(*(f"{t:g}" for t in times(reader("xdmf", path))))
        return
    found = reader(what, path)
    if len(sys.argv) > 4:
        times(found)
        found.UpdateTimeStep(float(sys.argv[4]))
    else:
        found.Update()
    image = found.GetOutputDataObject(0)
    fields = image.GetPointData() if what == "hdf" else image.GetCellData()
    array = fields.GetArray(sys.argv[3])
    for i in range(array.GetNumberOfTuples()):
        print("%.17g" % array.GetTuple1(i))


if __name__ == "__main__":
    main()
