# What is odd about the orders in out/orders.csv.
awk -F, '
    NR == 1 { next }
    { why = "" }
    $6 != $4 * $5 { why = "the total is not quantity times price" }
    $4 > 100 { why = "more than 100 pieces" }
    $7 == "refunded" && $6 > 1000 { why = "a refund of over a thousand" }
    why != "" { print $1 "," $3 "," $6 "," why }
' out/orders.csv >out/odd.csv || exit 1
checked=$(awk 'END { print NR - 1 }' out/orders.csv)
odd=$(awk 'END { print NR }' out/odd.csv)
printf '{"checked": %d, "odd": %d}\n' "$checked" "$odd"
