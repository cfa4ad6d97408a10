# Whether what is live can work: an ordinary program may only use ports from 1024 on.
port=$(sed -n 's/^port=//p' live/service.conf)
[ "$port" -ge 1024 ] || { echo "port $port is not for an ordinary program"; exit 1; }
