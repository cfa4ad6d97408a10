# What an order costs with shipping, in cents: sh price.sh AMOUNT
amount=$1

shipping=590
[ "$amount" -ge 5000 ] && shipping=0
echo $((amount + shipping))
