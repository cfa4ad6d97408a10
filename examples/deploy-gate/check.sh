# Whether the settings can be read.
grep -q '^name=[a-z]*$' service.conf && grep -q '^port=[0-9]*$' service.conf
