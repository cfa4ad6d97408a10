echo "low water"
