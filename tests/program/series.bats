# output.every: the state files of a series and the frames of a picture are those of any ranks, fusing and
# restart.
load ../support/helper

heat=(problem.kind=heat problem.alpha=0.2 problem.initial=gaussian grid.nx=48 grid.ny=30 time.steps=25
    output.every=6 output.picture=h.png output.picture_low=-0.5 output.picture_high=1 output.series=series)

@test "every sixth step from 0 on is there, with the bits of any ranks and fuse depth, and of a restart" {
    deck h.ini "${heat[@]}"
    weft_run 3 h.ini run.fuse=4
    expect files "0 6 12 18 24" "$(steps_in series)"
    expect "frames, locks" "5 " "$(ls h.frames | wc -l) $(ls -A series | grep lock || true)"
    mkdir before && mv h.png h.frames series before && mkdir series
    weft_alone h.ini time.steps=15 checkpoint.every=15
    weft_run 4 h.ini --restart checkpoints
    cmp h.png before/h.png
    diff -r h.frames before/h.frames
    "$weft" diff series before/series
}

@test "an older run's frames go: all, or those behind the level of a restart; pictures bring no states" {
    local film=("${heat[@]/h.png/H.Png}")
    deck h.ini "${film[@]/output.series=series/output.progress=off}"
    mkdir H.frames
    touch H.frames/{0000000001.png,0000000600.png,0000000006.png.tmp.0123456789abcdef,mine.png}
    weft_alone h.ini --quiet output.every=12 time.steps=13 checkpoint.every=12
    expect frames "0000000000.png 0000000012.png mine.png" "$(ls H.frames | xargs)"
    cp H.frames/0000000000.png H.frames/0000000600.png
    weft_alone h.ini --quiet output.every=6 --restart checkpoints
    expect frames "0000000000.png 0000000012.png 0000000018.png 0000000024.png mine.png" \
        "$(ls H.frames | xargs)"
    expect "files" "H.Png H.frames checkpoints h.ini results.jsonl" "$(ls | LC_ALL=C sort | xargs)"
}

@test "what stands in the way of a series or of frames is one sentence" {
    deck h.ini "${heat[@]}"
    refuses 2 weft_alone h.ini output.series=checkpoints -- output.series "another folder"
    mkdir series && echo "host=elsewhere pid=1 job=- restarts=0" >series/.weft.lock
    refuses 2 weft_alone h.ini -- output.series elsewhere
    rm -rf series
    ln -s nowhere/frames h.frames
    refuses 3 weft_alone h.ini -- "output.picture: cannot make the directory h.frames"
    rm h.frames
    mkdir -p h.frames/0000000000.png
    refuses 3 weft_alone h.ini -- "output.picture: an older run's frames in h.frames cannot be deleted"
    rm -r h.frames
    weft_alone h.ini --dry-run 2>/dev/null | grep '^# series  *5 of 11.5 KB into series, all kept: 57.6 KB'
}
