# A report of what stands in out/odd.csv.
odd=$(awk 'END { print NR }' out/odd.csv) || exit 1
{
    echo "# Orders that are odd"
    echo
    echo "| order | customer | total | why |"
    echo "|---|---|---|---|"
    awk -F, '{ printf "| %s | %s | %s | %s |\n", $1, $2, $3, $4 }' out/odd.csv
} >out/report.md || exit 1
printf '{"odd": %d, "file": "out/report.md"}\n' "$odd"
