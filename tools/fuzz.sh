#!/bin/sh
# Runs each fuzz target of all modules for a time: fuzz.sh 10s
# An input that fails is written to testdata/fuzz beside the test. Commit it: from then on it is a case of the ordinary tests.
set -eu

time=${1:-10s}
root=$PWD

found=$(grep -r --include='*_test.go' -E '^func Fuzz[A-Z0-9_][A-Za-z0-9_]*\(' . | sed -E 's/^(.*)\/[^/]*:func (Fuzz[A-Za-z0-9_]*).*/\1 \2/' | sort -u)
[ -n "$found" ] || { echo "fuzz: there are no targets" >&2; exit 1; }

echo "$found" | while read -r folder target; do
	echo "$folder: $target for $time"
	cd "$root/$folder"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel 2 .
done
