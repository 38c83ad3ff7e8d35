"""Reads records of weft and compares them: the Python behind the commands in jobs/.

records.py needs Python 3.6 and no other package, because jobs/study calls it where weft runs.
compare.py needs Python 3.8, pandas and scipy, plot_bench.py Python 3.8 and matplotlib,
animate.py Python 3.8 and Pillow.
`python3 -m weftlab.NAME` does what jobs/NAME does.
"""
