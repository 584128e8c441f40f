#!/bin/sh
# Prints the plugin's manifest for krew with the version and the checksums of the archives: krew.sh VERSION CHECKSUMS, the latter as sha256sum prints them.
set -eu

version=$1
case $version in # it stands in expressions of sed and in URLs
'' | *[!0-9A-Za-z.+-]*) echo "krew: the version \"$version\" must consist of letters, digits, dots, + and -" >&2; exit 1 ;;
esac
script="s|VERSION|$version|g"
for platform in linux_amd64 linux_arm64; do
	sum=$(sed -n "s|^\([0-9a-f]*\) .*fairlead_${version}_$platform.tar.gz\$|\1|p" "$2")
	[ -n "$sum" ] || { echo "krew: $2 has no checksum of fairlead_${version}_$platform.tar.gz" >&2; exit 1; }
	script="$script;s|SHA256_$platform|$sum|"
done
sed -e '/^#/d' -e "$script" "$(dirname "$0")/../deploy/krew/fairlead.yaml"
