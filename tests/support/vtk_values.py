#!/usr/bin/env python3
"""Prints what VTK's own reader, vtkHDFReader, finds in a state file's /VTKHDF: its points along x and y, then one value a
line with 17 digits, row by row.

  vtk_values.py FILE ARRAY
"""
import sys

from vtkmodules.vtkIOHDF import vtkHDFReader

path, name = sys.argv[1:]
found = vtkHDFReader()
if not found.CanReadFile(path):
    sys.exit(f"{path}: the reader cannot read it")
found.SetFileName(path)
found.Update()
image = found.GetOutputDataObject(0)
array, (nx, ny, _) = image.GetPointData().GetArray(name), image.GetDimensions()
print(nx, ny)
for i in (image.ComputePointId((x, y, 0)) for y in range(ny) for x in range(nx)):
    print("%.17g" % array.GetTuple1(i))
