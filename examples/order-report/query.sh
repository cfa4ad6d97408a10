# The orders of one month: sh query.sh YYYY-MM
mkdir -p out || exit 1
awk -F, -v month="$1" 'NR == 1 || substr($2, 1, 7) == month' orders.csv >out/orders.csv || exit 1
orders=$(awk 'END { print NR - 1 }' out/orders.csv)
printf '{"month": "%s", "orders": %d}\n' "$1" "$orders"
