# For every kind, order and pair of sides that has a closed answer the verdict is `exact`; where there is none the verdict
# is `unchecked` with a reason. That the answers are right for every order on every pair: test_problem_modes_are_exact.
load ../support/helper

sides=(periodic:periodic "dirichlet 0:dirichlet 0" neumann:neumann "dirichlet 0:neumann" "neumann:dirichlet 0")

exact() { # key=value...
    deck d.ini "$@"
    rm -f results.jsonl # the last run's verdict is not this one's
    weft_alone d.ini || true
    expect "verdict of $*" exact "$(record .verdict)"
    expect "error within bound" true "$(record '.max_error != null and .max_error <= .error_bound')"
}

@test "every kind on pairs of sides of x with another of y, in f64 and f32, orders 2 .. 16 in turn" {
    local kinds=(heat wave sweep laplace custom advect heat wave) k x y of ny
    for k in {0..7}; do
        x=${sides[k % 5]} y=${sides[(2 * k + 1) % 5]} ny=37
        of=(problem.alpha=0.13 "problem.order=$((2 * k + 2))")
        case ${kinds[k]} in
        laplace) of=() ;;
        custom) of=(problem.dtype=f32 "problem.weights=.05 .1 .05 | .15 .3 .15 | .05 .1 .05") ;;
        advect) x=periodic:periodic y=$x of[0]=problem.alpha=-0.2 ;;
        esac
        if [ $k -lt 6 ]; then of+=(problem.mode_y=3); else of+=(problem.dtype=f32) ny=1; fi
        exact problem.kind=${kinds[k]} grid.nx=53 grid.ny=$ny problem.mode_x=$((k + 1)) "${of[@]}" \
            time.steps=12 "grid.x_low=${x%:*}" "grid.x_high=${x#*:}" "grid.y_low=${y%:*}" "grid.y_high=${y#*:}"
    done
}

# bats test_tags=gpus:part
@test "small and odd grids: as narrow as the radius, prime, 1 wide" {
    exact problem.kind=heat problem.alpha=0.1 problem.order=8 grid.nx=4 grid.ny=4 grid.boundary=neumann time.steps=5
    exact problem.kind=heat problem.alpha=0.2 grid.nx=1 grid.ny=17 grid.boundary=neumann problem.mode_x=0 time.steps=5
    exact problem.kind=wave problem.alpha=0.2 problem.order=2 grid.nx=127 grid.ny=2 time.steps=5 \
        grid.y_low=neumann grid.y_high=neumann
    exact problem.kind=transpose grid.nx=1 grid.ny=13 time.steps=4
    exact problem.kind=transpose grid.nx=101 grid.ny=3 time.steps=4
    exact problem.kind=heat problem.alpha=0.2 grid.nx=5 time.steps=0
}

# bats test_tags=gpus:part
@test "weights that amplify: how much and until when is said; what is beyond the type is unchecked" {
    deck d.ini problem.kind=custom "problem.weights=1 2 1" grid.nx=64 run.fuse=1
    local type step
    for type in f32:63 f64:512; do
        step=${type#*:} type=${type%:*}
        weft_alone d.ini problem.dtype=$type time.steps=$step >out
        grep -q "amplify the initial mode 3.99 times in a step: from step $step on" <(xargs <out)
        expect "verdict of $type" "unchecked after $step steps the mode has grown beyond the range of $type" \
            "$(record '"\(.verdict) \(.verdict_why)"')"
        weft_alone d.ini problem.dtype=$type time.steps=$((step - 1)) >out
        expect "notes" 0 "$(grep -c amplify out)"
    done
}

# bats test_tags=gpus:part
@test "a tolerance that was not reached is said" {
    deck d.ini problem.kind=laplace grid.nx=40 grid.ny=40 "grid.boundary=dirichlet 0" time.steps=9 time.tolerance=1e-9
    weft_alone d.ini 2>said >&2
    expect "sentences" 1 "$(grep -c '^weft: not converged after 9 steps: max .* is .*, time.tolerance 1e-09$' said)"
    expect "notes of the record" 1 "$(record '[.notes[] | select(startswith("not converged"))] | length')"
    weft_alone d.ini time.tolerance=1 2>said >&2
    ! grep -q 'not converged' said || { cat said; return 1; }
}
