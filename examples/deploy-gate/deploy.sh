# Puts the settings live.
mkdir -p live || exit 1
if [ -f live/service.conf ]; then cp live/service.conf live/before.conf || exit 1; fi
cp service.conf live/service.conf
