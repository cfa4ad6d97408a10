#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| concertina_fuzz::config(bytes));
