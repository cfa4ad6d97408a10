# Sets the port: sh edit.sh PORT
sed "s/^port=.*/port=$1/" service.conf >service.conf.new && mv service.conf.new service.conf
