#!/bin/sh
# Runs all tests several times, each time in another order: shuffle.sh TIMES [PATTERN]
# AT_ONCE=2 makes two runs side by side, so that the tests run on a busy machine. Do not run more than there are cores: each run brings up ten control planes. RACE=-race switches on the race detector.
# Only packages whose folder matches the PATTERN are tested.
# Each test program is linked once. "make test" links a hundred programs each time, and for most of them that takes longer than their tests.
set -eu

# one PROGRAM RUN PACKAGE runs the program once, in the folder of its package.
one() {
	output=$1.$2
	if (cd "$3" && "$1" -test.shuffle=on -test.timeout=90m) >"$output" 2>&1; then
		rm "$output"
		return
	fi
	mv "$output" "$FAILED" && output=$FAILED/${output##*/}
	echo "run $2: FAIL $3 $(grep -m 1 -e '-test.shuffle' "$output" || true), see $output"
	grep -E -A 12 '^ *(--- FAIL|panic:|WARNING: DATA RACE)' "$output" | cut -c1-500 | head -n 100
}

if [ "$1" = --one ]; then # run calls it.
	read -r package program <<-EOF
		$3
	EOF
	one "$program" "$2" "$package"
	exit
fi

times=$1
pattern=${2:-.}
began=$(date +%s)
programs=$(mktemp -d)
FAILED=$PWD/bin/shuffle
export FAILED
mkdir -p "$FAILED"
trap 'rm -rf "$programs"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# link MODULE links the test programs of the module, and prints a line for each: folder and program.
link() {
	cd "$1"
	packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...)
	for package in $packages; do
		echo "$package" | grep -q -e "$pattern" || continue
		race=${RACE-}
		case $package in
		*/test/growth | */test/walks | */test/alerts | */test/e2e) race= ;; # as in the Makefile
		esac
		program=$programs/$(echo "$package" | tr / _)
		(cd "$package" && go test -c -vet=off -ldflags=-w $race -o "$program" .)
		echo "$package $program"
	done
}

# run N runs all programs once. The end-to-end tests wait most of the time, so the unit tests run beside them.
run() {
	grep '/test/e2e ' "$programs/list" | xargs -d '\n' -r -n 1 tools/shuffle.sh --one "$1" &
	grep -v '/test/e2e ' "$programs/list" | xargs -d '\n' -r -n 1 -P 2 tools/shuffle.sh --one "$1"
	wait
	echo "run $1 has ended, $(($(date +%s) - began)) s after the beginning"
}

rm -f "$FAILED"/*
for module in . playground test/scale test/alerts ccm/skeleton examples/provider; do
	(link "$module")
done >"$programs/list"
[ -s "$programs/list" ] || { echo "shuffle: no folder with tests matches $pattern" >&2; exit 1; }
echo "$(wc -l <"$programs/list") test programs are linked, after $(($(date +%s) - began)) s"

streams=${AT_ONCE:-1}
for stream in $(seq "$streams"); do
	for n in $(seq "$stream" "$streams" "$times"); do run "$n"; done &
done
wait
failures=$(find "$FAILED" -type f | wc -l)
echo "$times runs, $failures failures"
[ "$failures" = 0 ]
