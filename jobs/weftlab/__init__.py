"""Reads records of weft and compares them: the Python behind the commands in jobs/.

records.py, site.py and study*.py need Python 3.6 and no other package: they work where weft runs.
compare.py needs Python 3.8, pandas and scipy, plot_bench.py Python 3.8 and matplotlib,
animate.py Python 3.8 and Pillow.
`python3 -m weftlab.NAME` does what jobs/NAME does.
"""
