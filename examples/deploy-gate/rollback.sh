# Puts live again what was live before; nothing, where nothing was.
if [ -f live/before.conf ]; then mv live/before.conf live/service.conf; else rm -f live/service.conf; fi
