//! Which words of a command are code.

use concertina_core::policy::code_words;
use concertina_format::expand::split_words;

#[test]
fn s56_what_runs_is_told_from_what_is_given_to_it() {
    for (command, code) in [
        ("python scripts/report.py --month 5", "scripts/report.py"),
        ("/usr/bin/python3 -W ignore a.py b.py", "/usr/bin/python3 a.py"),
        ("python -Im a.py", ""),
        ("python -c a.py", ""),
        ("node -r ./hook.js main.js data.js", "./hook.js main.js"),
        ("node -pe 1 a.js", ""),
        ("node --eval=1 a.js", ""),
        ("deno run --allow-read a.ts b.ts", "a.ts"),
        ("ruby -rset a.rb b.rb", "a.rb"),
        ("perl -MList::Util=reduce a.pl b.pl", "a.pl"),
        ("php -r a.php", ""),
        ("perl -pi -e s/a/b/ a.pl", ""),
        ("bash -eu a.sh b.sh", "a.sh"),
        ("bash -ec a.sh", ""),
        ("env A=1 python3 a.py b.py", "a.py"),
        ("timeout 5 ./a.sh b.sh", "./a.sh"),
        ("nice -n 5 env bash a.sh", "a.sh"),
        ("a.sh b.sh", ""),
        ("git add a.py", ""),
        ("xargs", ""),
        ("", ""),
    ] {
        let words = split_words(command);
        let found = code_words(&words, &|word| word.contains('.') || word.starts_with('/'));
        assert_eq!(found.join(" "), code, "{command}");
    }
}
