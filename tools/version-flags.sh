#!/bin/sh
# Prints the linker flags that give the daemon its version, for example v1.37.1+fairlead.v0.2.0-3-g26336e1.
#
# The number is that of the Kubernetes libraries, because they read it: it decides which feature gates exist and which
# metrics are hidden. Stamped with v0.2.0 they would refuse nearly every gate, and a bare commit makes them panic. Our own
# version is the build metadata, as distributions write it. It works without tags, and without a repository.
set -eu

libraries=$(go list -m -f '{{.Version}}' k8s.io/component-base)
number=1.${libraries#v0.}
minor=${number#1.}
ours=$(git describe --tags --always --dirty 2>/dev/null) || ours=unknown
commit=$(git rev-parse HEAD 2>/dev/null) || commit=unknown
# The commit's date and not today's, so that the same source gives the same binary.
date=$(TZ=UTC0 git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null) || date=1970-01-01T00:00:00Z
case $ours in
*-dirty) tree=dirty ;;
*) tree=clean ;;
esac

# client-go keeps a copy of its own, from which it makes the user agent.
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	printf -- '-X %s=%s ' \
		"$package.gitVersion" "v$number+fairlead.$ours" \
		"$package.gitMajor" 1 \
		"$package.gitMinor" "${minor%%.*}" \
		"$package.gitCommit" "$commit" \
		"$package.gitTreeState" "$tree" \
		"$package.buildDate" "$date"
done
