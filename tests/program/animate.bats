# jobs/animate joins the frames of a run into a GIF or an APNG that shows each of them as it is, for its time.
# jobs/panels draws them side by side, with axes, a colour bar, step and range.
load ../support/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    python_with PIL matplotlib
    deck d.ini problem.kind=heat problem.alpha=0.2 grid.nx=60 grid.ny=40 time.steps=40 output.every=10 output.picture=p.png
}

# Frames, those whose cells differ from the PNG files of the folder, milliseconds, and repetitions (0: without end)
shown() { # animation folder
    $python - "$@" <<'END_OF_PYTHON'
import pathlib, sys
from PIL import Image, ImageSequence
animation = Image.open(sys.argv[1])
files = sorted(pathlib.Path(sys.argv[2]).glob("*.png"))
pixels, milliseconds = [], 0
for frame in ImageSequence.Iterator(animation):
    pixels.append(frame.convert("RGB").tobytes())
    milliseconds += frame.info["duration"]
others = sum(a != Image.open(b).convert("RGB").tobytes() for a, b in zip(pixels, files))
print(animation.format, len(pixels), others, round(milliseconds), animation.info["loop"])
END_OF_PYTHON
}

@test "a GIF and an APNG have every frame of a run, by step, pixel by pixel, and equal ones keep their time" {
    weft_alone d.ini --quiet
    expect "what it said" "p.gif: 5 frames" "$("$top/jobs/animate" p.frames --output p.gif --fps 10)"
    expect "the GIF" "GIF 5 0 500 0" "$(shown p.gif p.frames)"
    "$top/jobs/animate" p.frames/*.png p.frames/0000000040.png --output p.apng
    expect "the APNG" "PNG 5 0 300 0" "$(shown p.apng p.frames)"
    expect "files" "d.ini p.apng p.frames p.gif p.png results.jsonl" "$(ls -A | xargs)"
}

@test "what cannot be joined is refused in one sentence, and an older animation stays" {
    weft_alone d.ini --quiet
    weft_alone d.ini --quiet output.every=0 output.picture=other.png grid.nx=50
    echo old >p.gif
    mkdir empty
    local wrong
    for wrong in 'empty --output p.gif' 'nowhere.png --output p.gif' 'd.ini --output p.gif' 'p.png other.png --output p.gif' \
        'p.png --output p.mp4' 'p.png --output p.gif --fps 0' 'p.png'; do
        run "$top/jobs/animate" $wrong
        expect "status of $wrong" 2 "$status"
        expect "sentences of $wrong" 1 "$(grep -c '^animate: ' <<<"$output")"
    done
    run "$top/jobs/animate" p.png --output nowhere/p.gif
    expect "status of a folder that is not there" 3 "$status"
    expect "the older animation" old "$(cat p.gif)"
    expect "files" "d.ini empty other.png p.frames p.gif p.png results.jsonl" "$(ls -A | xargs)"
    echo 'raise ImportError' >PIL.py
    PYTHONPATH=$PWD run "$top/jobs/animate" p.png --output p.gif
    expect "status without Pillow" 3 "$status"
    [[ $output == "animate: "*"python3-pil,"* ]]
}

@test "panels: each frame with its step, axes in cells, and a bar with the values of its colours" {
    weft_alone d.ini --quiet output.picture_high=2
    expect "what it said" "p.svg: 5 panels" "$("$top/jobs/panels" p.frames --output p.svg)"
    local words
    words=$(grep -oE '<(text|tspan)[^>]*>[^<]*' p.svg | sed 's/.*>//')
    expect titles "heat, step 0;heat, step 10;heat, step 20;heat, step 30;heat, step 40" "$(grep '^heat' <<<"$words" | paste -sd ';')"
    expect "axes" "5 x, cells 1 y, cells" "$(grep cells <<<"$words" | sort | uniq -c | xargs)"
    [[ $words == *60*40* && $words == *0.0*2.0* && $words == *"value of a cell"* ]] || { echo "$words"; return 1; }
    "$top/jobs/panels" p.png p.frames --output p.png
    [ "$($python -c 'from PIL import Image; print(Image.open("p.png").size[0])')" -gt 1000 ]
}

@test "panels: what weft did not draw is refused in one sentence" {
    weft_alone d.ini --quiet
    $python -c 'from PIL import Image; Image.new("P", (4, 4)).save("other.png")'
    mkdir empty
    local wrong
    for wrong in 'empty --output q.png' 'nowhere.png --output q.png' 'd.ini --output q.png' 'other.png --output q.png' \
        'p.png --output q.gif' 'p.png'; do
        run "$top/jobs/panels" $wrong
        expect "status of $wrong" 2 "$status"
        expect "sentences of $wrong" 1 "$(grep -c '^panels: ' <<<"$output")"
    done
    echo 'raise ImportError' >matplotlib.py
    PYTHONPATH=$PWD run "$top/jobs/panels" p.png --output q.png
    expect "status without matplotlib" 3 "$status"
}
