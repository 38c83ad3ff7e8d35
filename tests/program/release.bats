# A release has one version everywhere, is made of a clean and tested commit that CHANGELOG.md describes, and
# leaves an archive and a tag.
load ../support/helper

# A repository with the files that a release reads and changes; its tests pass unless there is a file
# `broken`.
setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
        GIT_COMMITTER_EMAIL=a@b
    git init -q tree
    cd tree || exit 1
    mkdir .ci jobs
    cp "$top/.ci/release" .ci/
    cp "$top/jobs/pyproject.toml" jobs/
    cp "$top/CITATION.cff" .
    printf 'VERSION   := 0.9.0\ntest-all:\n\ttest ! -e ../broken\n' >Makefile
    printf '# Changelog\n\n## 7.8.9\n' >CHANGELOG.md
    git add .
    git commit -qm "what is there"
}

@test "the version is the same in the Makefile, the Python package, the citation and the changelog" {
    local version
    version=$(sed -n 's/^VERSION *:= //p' "$top/Makefile")
    expect pyproject.toml "version = \"$version\"" "$(grep '^version' "$top/jobs/pyproject.toml")"
    expect CITATION.cff "version: $version" "$(grep '^version' "$top/CITATION.cff")"
    grep -qxF "## $version" "$top/CHANGELOG.md"
}

@test "a release sets the version, tests, commits, packs and tags" {
    run -0 .ci/release 7.8.9 --tag
    expect "versions" "7.8.9 7.8.9 7.8.9" "$(sed -nE 's/^(VERSION|version)[ =:"]*([0-9.]*).*/\2/p' \
        Makefile jobs/pyproject.toml CITATION.cff | xargs)"
    expect "the tag's commit" "$(git rev-parse HEAD) release: 7.8.9" "$(git log -1 --format='%H %s' v7.8.9)"
    expect "the packed Makefile" "VERSION   := 7.8.9" \
        "$(tar -xzOf weft-7.8.9.tar.gz weft-7.8.9/Makefile | head -n 1)"
}

@test "a build of an archive knows its commit; one of a plain copy has none" {
    commit_in() { make -s -C $1 --eval='commit-of: ; @echo $(GIT)' commit-of; }
    cp "$top/Makefile" "$top/.gitattributes" .
    cp "$top/.ci/install-deps" .ci/
    echo '$Format:%h$' >.ci/commit
    git add -f .
    git commit -qm "what a build reads"
    mkdir ../archive ../copy
    git archive HEAD | tar -xC ../archive
    cp -r Makefile .ci ../copy
    expect "a checkout's, an archive's, a copy's" \
        "$(git describe --always) $(git rev-parse --short HEAD) unknown" \
        "$(commit_in .) $(commit_in ../archive) $(commit_in ../copy)"
}

@test "a dirty tree, a version without a changelog, a tag that exists and a failed test release nothing" {
    local commit
    commit=$(git rev-parse HEAD)
    nothing() { # status, text, version
        run .ci/release "$3" --tag
        expect status "$1" "$status" || { echo "$output"; return 1; }
        [[ $output == *"$2"* ]] || { echo "no '$2' in: $output"; return 1; }
        expect "the commit, archives" "$commit" "$(git rev-parse HEAD)$(ls | grep tar || true)"
    }
    nothing 2 "'7.8' is no version" 7.8
    nothing 2 "CHANGELOG.md has no heading '## 7.8.10'" 7.8.10
    touch new
    nothing 2 "the tree has changes that are not committed: ?? new" 7.8.9
    rm new
    touch ../broken
    nothing 1 "a test failed" 7.8.9
    expect "what differs" "" "$(git status --porcelain)"
    rm ../broken
    git tag v7.8.9
    nothing 2 "the tag v7.8.9 exists" 7.8.9
}
