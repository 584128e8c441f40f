#!/usr/bin/env bash
# Tries what docs/reference/skew.md promises: skew.sh [MINOR | aws | next]…, for example skew.sh 1.36. Without arguments: the older minors and aws.
# RUN, a pattern for go test -run, chooses other end-to-end tests.
#
# The modfiles are made from today's go.mod each time, so none is ever stale.
set -euo pipefail
cd "$(dirname "$0")/.."

# The most important end-to-end tests. They take some minutes.
heart=(
	TestNewNodeIsInitialised TestNodesJoinWhileTheDaemonRuns TestNodeFollowsItsInstance
	TestLegitimateDeletions TestKubelets
	TestServiceGetsALoadBalancer TestServiceChangesItsType TestTrafficWhileEverythingChanges
	TestRouteOfANode TestRouteOfANodeThatIsReplaced
	TestRollingRestart TestLeaderIsKilled TestLeaderMigration
	TestControllersActAsServiceAccounts TestServingAsksTheAPIServer TestRights TestManifestsAreAccepted
)

today=$(cd playground && go list -m -f '{{.Version}}' k8s.io/kubernetes)
today=${today#v1.} # 37.1
minor=${today%.*}

for name in "${heart[@]}"; do
	grep -q "^func $name(" test/e2e/*_test.go || { echo "skew: there is no end-to-end test $name" >&2; exit 1; }
done
pattern="^($(IFS='|' && echo "${heart[*]}"))\$"

# newest DIR MODULE MINOR is the newest release of a minor that the module proxy knows.
newest() { (cd "$1" && go list -m -f '{{.Version}}' "$2@v$3"); }

# modfile DIR FILE SCRIPT [-e] makes FILE of DIR/go.mod, with other versions by a script for sed. With -e, modules that only tests of others need may be missing.
modfile() {
	mkdir -p "$(dirname "$2")"
	sed "$3" "$1/go.mod" >"$2"
	cp "$1/go.sum" "${2%.mod}.sum"
	(cd "$1" && go mod tidy ${4-} -modfile="$2")
}

# linked PROGRAM VERSION prints the modules in a program that have this version, after replacements.
linked() { go version -m "$1" | awk -v version="$2" '$3 == version && $4 ~ /^h1:/ { print $2, $3 }'; }

# older MINOR: today's daemon on a control plane and kubelets of an older minor.
older() {
	local bin=$PWD/bin/skew/$1 release
	release=$(newest playground k8s.io/kubernetes "$1")
	# The playground's go.mod replaces all libraries of Kubernetes, so the requirements of the daemon's module do not raise their versions.
	modfile playground "$bin/go.mod" "/\/\/ indirect\$/d; s/\(k8s\.io.* v[01]\)\.$today\$/\1.${release#v1.}/"
	(cd playground && ../tools/go-build.sh "bin/skew/$1/playground" -modfile="$bin/go.mod" \
		-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$release" -o "$bin/playground" .)
	if linked "$bin/playground" "v0.$today" | grep . || ! linked "$bin/playground" "$release" | grep .; then
		echo "skew: this is not the control plane of $release" >&2
		return 1
	fi
	ln -sf ../../cloud-controller-manager ../../simcloud ../../fairlead ../../kubectl "$bin/"
	echo "skew: today's daemon on Kubernetes $release"
	FAIRLEAD_BIN=$bin go test -count=1 -timeout=40m -v -run "${RUN:-$pattern}" ./test/e2e/
}

# aws: the provider of AWS, written against the oldest contract, in today's daemon.
aws() {
	local bin=$PWD/bin module=k8s.io/cloud-provider-aws release
	local dir=$bin/skew/aws
	release=$(newest examples/aws $module "1.$((minor - 3))")
	modfile examples/aws "$dir/go.mod" "s#\($module\) .*#\1 $release#"
	# The provider's tagging controller uses the skeleton's own configuration, which is no part of the contract and has changed. So the controller and its flags are left out.
	grep -vi flag examples/aws/main.go >"$dir/main.go"
	cat >"$dir/overlay.json" <<-END
		{"Replace": {"$PWD/examples/aws/main.go": "$dir/main.go", "$PWD/examples/aws/tagging.go": ""}}
	END
	cd examples/aws
	echo "skew: in today's daemon, the provider of AWS $release, whose go.mod says:" \
		"$(grep -o 'k8s.io/cloud-provider v.*' "$(go list -modfile="$dir/go.mod" -m -f '{{.GoMod}}' $module)")"
	FAIRLEAD_BIN=$bin go test -modfile="$dir/go.mod" -overlay="$dir/overlay.json" -count=1 -timeout=10m -v -run '^TestLifeOfNodes$' .
	cd "$OLDPWD"
}

# next: the daemon with the libraries of the next release. The go command fetches the Go that they need.
next() {
	local dir=$PWD/bin/skew/next release=0.38.0-beta.0 merge=sigs.k8s.io/structured-merge-diff/v7
	export GOTOOLCHAIN=go1.27.4
	# The release requires v7.0.1 of $merge, which the module proxy does not serve, nor k8s.io/ktesting of the release.
	modfile . "$dir/go.mod" "/\/\/ indirect\$/d; /^toolchain/d; s/^go .*/go 1.27.0/; s/\(k8s\.io.* v\)0\.$today\$/\1$release/; \$a replace $merge v7.0.1 => $merge v7.0.0" -e
	echo "skew: today's daemon with $release"
	# The list of gates is that of today's libraries.
	go test -count=1 -vet=off -tags next -modfile="$dir/go.mod" -run "${RUN:-.}" -skip '^TestGatesWithoutEffect$' \
		./ccm/... ./internal/{cloud,command,controller,daemon,dryrun,kube}/...
}

[ $# -gt 0 ] || set -- aws "1.$((minor - 1))" "1.$((minor - 2))"
for part; do
	case $part in
	aws | next) "$part" ;;
	*) older "$part" ;;
	esac
done
