# Puts TEXT in the place of one line: sh edit.sh FILE LINE TEXT
number=0
while IFS= read -r old; do
    number=$((number + 1))
    [ "$number" = "$2" ] && old=$3
    printf '%s\n' "$old"
done <"$1" >"$1.new" && mv "$1.new" "$1"
