# Whether a program of the shell is well-formed: sh lint.sh FILE
sh -n "$1" || exit 1
if grep -n '[[:blank:]]$' "$1"; then
    echo "blanks at the end of these lines"
    exit 1
fi
