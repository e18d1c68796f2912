#!/usr/bin/env bash
# install.sh DEST PREFIX VERSION BUILD: put the command, the library, the header and the clients under DEST;
# PREFIX, an absolute path, is what the installed files say about themselves.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$2 version=$3 build=$4
case $prefix in
/*) ;;
*) echo "install.sh: PREFIX is \"$prefix\", want an absolute path, such as PREFIX=\"\$PWD/$prefix\"" >&2 && exit 2 ;;
esac
case $prefix in
*[\"\'\\\$\#\`$'\t\n']*) echo "install.sh: PREFIX is \"$prefix\", want one without \" ' \\ \$ # \`, tabs and line ends, which pkg-config cannot give to a compiler" >&2 && exit 2 ;;
esac
dest=$(realpath -m -- "$1")
install -d "$dest"/{bin,lib/pkgconfig,lib/cmake/spdl,include/spdl,share/doc/spdl/docs/img,share/doc/spdl/include}
install -m 755 "$build/spdl" "$build/spdl-device" "$dest/bin/"
install -m 755 "$build/libspdl.so.$version" "$dest/lib/"
ln -sf "libspdl.so.$version" "$dest/lib/libspdl.so.0"
ln -sf libspdl.so.0 "$dest/lib/libspdl.so"
install -m 644 "$build/libspdl.a" "$dest/lib/"
install -m 755 "$build/libspdl_engine.so" "$dest/lib/"
install -m 644 include/spdl.h "$dest/include/"
install -m 644 clients/cpp/include/spdl/*.hpp "$dest/include/spdl/"
install -m 644 clients/cpp/cmake/*.cmake "$dest/lib/cmake/spdl/"
pc=$(<capi/client/spdl.pc.in)
pc=${pc//@PREFIX@/"${prefix// /\\ }"} # a blank as pkg-config wants it
printf '%s\n' "${pc//@VERSION@/"$version"}" >"$dest/lib/pkgconfig/spdl.pc"
pages=$dest/share/doc/spdl # each page in the tree's own place, so that links between pages work
install -m 644 README.md LICENSE CHANGELOG.md "$pages/"
install -m 644 docs/*.md "$pages/docs/"
install -m 644 docs/img/* "$pages/docs/img/"
(cd examples && find . -type f ! -path '*/__pycache__/*' -exec install -D -m 644 {} "$pages/examples/{}" \;)
ln -sf ../../../../include/spdl.h "$pages/include/spdl.h"
sed -Ei 's#\[([^]]*)\]\((\.\./)?(bench|tests)(/[^)]*)?\)#\1#g' "$pages"/*.md "$pages"/docs/*.md # what only the tree has is a name here
if [ "$dest" = "$prefix" ] && [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi # so that programs find the library, where the linker looks in it
echo "installed into $dest"
