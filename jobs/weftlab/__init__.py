"""Reads records of weft and compares them: the Python behind the commands in jobs/.

records.py, site.py and study*.py need Python 3.6 and no other package: they work where weft runs.
The others need Python 3.8: judge.py numpy, compare.py pandas and scipy, plot.py pandas and matplotlib,
panels.py Pillow, check_page.py jinja2. frame.py makes frames of records, *_pictures.py figures of frames.
`python3 -m weftlab.NAME` does what jobs/NAME does.
"""
