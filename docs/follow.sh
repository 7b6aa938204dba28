#!/bin/sh
# Follows a page of these docs word for word, in an empty folder: sh docs/follow.sh docs/HOST.md FOLDER
#
# A block of code after a line that names a file, in backticks and with a colon, is that file. A line of a block that begins
# with `$ ` is a command. Files are written into FOLDER/operator, commands run there in the order of the page, and
# FOLDER/wavetank is this tree. A block after the comment `<!-- elsewhere -->` is left out. The first command that fails ends
# it. CARGO_TARGET_DIR may say where to build.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: sh docs/follow.sh PAGE FOLDER" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
page=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$2
mkdir -p "$folder/operator"
if [ -n "$(ls -A "$folder/operator")" ]; then
    echo "$folder/operator is not empty" >&2
    exit 2
fi
ln -sfn "$root" "$folder/wavetank"
cd "$folder/operator"

awk '
    /^<!-- elsewhere -->$/ { elsewhere = 1; next }
    /^```/ && !inside { inside = 1; if (file != "") { path = file; file = "" }; next }
    /^```/ { inside = 0; path = ""; elsewhere = 0; next }
    inside && path != "" {
        if (!(path in seen)) {
            seen[path] = 1
            folder = path
            if (sub("/[^/]*$", "", folder)) system("mkdir -p " folder)
            printf "" > path
        }
        print >> path
        next
    }
    inside && !elsewhere && /^\$ / { print substr($0, 3) > "../commands"; next }
    !inside && /^`[^` ]*`:$/ { file = substr($0, 2, length($0) - 3); next }
    !inside && NF { file = "" }
' "$page"

commands=$(wc -l < ../commands)
number=0
while IFS= read -r command; do
    number=$((number + 1))
    echo "[$number/$commands] $command"
    sh -c "$command" < /dev/null
done < ../commands
echo "$page: $commands commands, all of them succeeded"
