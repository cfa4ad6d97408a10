# Whether the program is well-formed.
sh -n price.sh || exit 1
if grep -n '[[:blank:]]$' price.sh; then
    echo "blanks at the end of these lines"
    exit 1
fi
