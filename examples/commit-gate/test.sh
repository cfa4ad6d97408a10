# The tests of price.sh; they speak TAP.
number=0
failed=0
costs() {
    number=$((number + 1))
    got=$(sh price.sh "$1")
    if [ "$got" = "$2" ]; then
        echo "ok $number - an order of $1 costs $2"
    else
        failed=1
        echo "not ok $number - an order of $1 costs $got and not $2"
    fi
}

echo 1..3
costs 1000 1590
costs 5000 5000
costs 8000 8000
exit $failed
