//! Every finding a SKILL.md can give rise to: its code, how much it matters, what it means for the
//! status of the document, and what to do about it.

use concertina_types::Severity;

/// What a finding says about the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Worth knowing; the document is as written. Strict reading accepts it.
    Note,
    /// The document is as written, but breaks a rule of the standard. Strict reading refuses it.
    Rule,
    /// A name or a description was taken from elsewhere. Strict reading refuses it.
    Derived,
    /// Something was repaired or left out. Strict reading refuses it.
    Repair,
    /// Nothing of the file can be used.
    Reject,
    /// The document is fine and could serve better. Only [`crate::lint`] says so, reading never does.
    Advice,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident $code:literal $severity:ident $effect:ident $help:literal;)*) => {
        /// A kind of finding. [`Code::as_str`] is stable: programs may depend on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $($(#[doc = $doc])+ $name,)* }

        impl Code {
            /// All of them, for the documentation.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The code as written in reports.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// How much it matters in a lenient reading.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// What it says about the document.
            pub const fn effect(self) -> Effect {
                match self { $(Self::$name => Effect::$effect,)* }
            }

            /// What to do about it.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)* }
            }

            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)* }
            }
        }
    };
}

codes! {
    // The bytes.
    /// The file holds nothing but blanks.
    FileEmpty "FILE_EMPTY" Error Reject "write a name, a description and instructions";
    /// The file is larger than a skill may be.
    FileTooLarge "FILE_TOO_LARGE" Error Reject "move long material to files next to SKILL.md and refer to them";
    /// The file is not text.
    BinaryFile "BINARY_FILE" Error Reject "save the file as UTF-8 text";
    /// A byte-order mark was removed.
    ByteOrderMark "BYTE_ORDER_MARK" Info Note "save the file as UTF-8 without a byte-order mark";
    /// The file is UTF-16 and was decoded.
    Utf16 "UTF16_DECODED" Warning Repair "save the file as UTF-8";
    /// A byte is not UTF-8; it was read as Windows-1252 or replaced.
    InvalidUtf8 "INVALID_UTF8" Warning Repair "save the file as UTF-8";
    /// Lines end with a bare carriage return.
    CarriageReturn "CARRIAGE_RETURN" Warning Repair "end lines with a line feed";
    /// A control character was removed.
    ControlCharacter "CONTROL_CHARACTER" Warning Repair "delete the character";
    /// An invisible character was removed from the frontmatter.
    HiddenCharacter "HIDDEN_CHARACTER" Warning Repair "delete it; hidden text can carry instructions that a reader does not see";
    /// A character that reorders text was removed from the frontmatter.
    BidiControl "BIDI_CONTROL" Warning Repair "delete it; it makes text look different from what a model reads";
    /// The body holds hidden or reordering characters; they are kept.
    HiddenInBody "HIDDEN_IN_BODY" Warning Note "delete them unless the language needs them";

    // Where the frontmatter is.
    /// There is no frontmatter.
    NoFrontmatter "NO_FRONTMATTER" Warning Derived "begin the file with `---`, `name:`, `description:` and `---`";
    /// Blank lines stand before the frontmatter.
    LeadingBlankLines "LEADING_BLANK_LINES" Warning Repair "begin the file with `---`";
    /// A comment stands before the frontmatter.
    LeadingComment "LEADING_COMMENT" Warning Repair "move the comment below the frontmatter";
    /// A heading or other text stands before the frontmatter.
    LeadingText "LEADING_TEXT" Warning Repair "move it below the frontmatter";
    /// The file or its frontmatter is wrapped in a code fence.
    CodeFence "CODE_FENCE_WRAPPED" Warning Repair "remove the code fence around it";
    /// The opening fence is missing.
    NoOpeningFence "OPENING_FENCE_MISSING" Warning Repair "begin the file with a line `---`";
    /// The closing fence is missing.
    NoClosingFence "CLOSING_FENCE_MISSING" Warning Repair "end the frontmatter with a line `---`";
    /// A fence is not exactly three dashes.
    OddFence "ODD_FENCE" Warning Repair "write exactly `---` at the beginning of the line";
    /// A second frontmatter follows the first; it stays in the body.
    SecondFrontmatter "SECOND_FRONTMATTER" Warning Note "merge the two, or delete the second";
    /// The frontmatter is larger than it may be.
    FrontmatterTooLarge "FRONTMATTER_TOO_LARGE" Error Reject "keep the frontmatter below 64 KiB; long text belongs in the body";
    /// The frontmatter nests too deeply, has too many parts, or its aliases multiply.
    TooComplex "FRONTMATTER_TOO_COMPLEX" Error Reject "write the values out, flat and without aliases";
    /// The frontmatter is TOML.
    Toml "TOML_FRONTMATTER" Warning Repair "write the frontmatter as YAML between `---` lines";
    /// The frontmatter is JSON.
    Json "JSON_FRONTMATTER" Warning Repair "write the frontmatter as YAML between `---` lines";
    /// The frontmatter is not a list of keys and values.
    NotMapping "FRONTMATTER_NOT_MAPPING" Error Repair "write one `key: value` a line";
    /// The frontmatter is a list; its entries were taken together.
    ListOfKeys "FRONTMATTER_IS_LIST" Warning Repair "remove the `-` before each key";

    // The values.
    /// A plain value holds a colon and a blank, which YAML reads as another key.
    UnquotedColon "UNQUOTED_COLON" Warning Repair "put the value in quotes, or begin it with `>-` on a line of its own";
    /// A plain value begins with a character that YAML reserves.
    ReservedStart "RESERVED_CHARACTER" Warning Repair "put the value in quotes";
    /// A quoted value holds its own quote character.
    InnerQuote "INNER_QUOTE" Warning Repair "use the other kind of quote around it, or escape the inner ones";
    /// Text follows a closed quote; the value was taken as written.
    TextAfterQuote "TEXT_AFTER_QUOTE" Warning Repair "put the whole value in quotes";
    /// A quote is not closed.
    UnterminatedQuote "UNTERMINATED_QUOTE" Warning Repair "close the quote at the end of the value";
    /// A backslash in double quotes is not an escape that YAML knows; it was taken as written.
    BadEscape "BAD_ESCAPE" Warning Repair "use single quotes, or write each backslash twice";
    /// Text follows a bracketed list or mapping; the value was taken as written.
    TextAfterBracket "TEXT_AFTER_BRACKET" Warning Repair "put the value in quotes";
    /// A bracket is not closed.
    UnclosedBracket "UNCLOSED_BRACKET" Warning Repair "close the bracket";
    /// The text below `|` or `>` is not indented.
    BlockNotIndented "BLOCK_NOT_INDENTED" Warning Repair "indent the text below `|` or `>` by two blanks";
    /// Text stands on the line of `|` or `>`.
    BlockHeaderText "BLOCK_HEADER_TEXT" Warning Repair "begin the text on the next line, indented";
    /// A value goes on in a line that is not indented.
    NotIndented "CONTINUATION_NOT_INDENTED" Warning Repair "indent the lines that continue a value";
    /// A tab is used for indentation.
    TabIndent "TAB_INDENT" Warning Repair "indent with blanks";
    /// Lines of one value are indented differently.
    Indentation "BAD_INDENTATION" Warning Repair "indent lines of one level alike";
    /// The blank after a colon is missing.
    MissingSpace "MISSING_SPACE" Warning Repair "write a blank after the colon";
    /// The colon after a key is missing.
    MissingColon "MISSING_COLON" Warning Repair "write a colon and a blank after the key";
    /// A key is written as a heading.
    HeadingKey "KEY_AS_HEADING" Warning Repair "remove the `#` before the key";
    /// A full-width colon separates key and value.
    FullWidthColon "FULLWIDTH_COLON" Warning Repair "write an ASCII colon and a blank";
    /// An equals sign separates key and value.
    EqualsSign "EQUALS_SIGN" Warning Repair "write `key: value`";
    /// A key is given twice; the last one counts.
    DuplicateKey "DUPLICATE_KEY" Warning Repair "keep one of them";
    /// A key is written with capitals.
    KeyCase "KEY_CASE" Warning Repair "write keys in lower case";
    /// A key cannot be read; the others are not affected.
    KeyUnreadable "KEY_UNREADABLE" Warning Repair "check the YAML of this key";
    /// A key that limits what the skill may do cannot be read: the skill is not shown to the model.
    SecurityKeyUnreadable "SECURITY_KEY_UNREADABLE" Error Repair "correct the key; until then only a person can open the skill";
    /// A line belongs to no key.
    StrayLine "STRAY_LINE" Warning Repair "write `key: value`, or move the text to the body";
    /// The YAML is wrong in a place that no narrower finding covers.
    Yaml "YAML_INVALID" Warning Repair "check the YAML of this key";
    /// Text after a blank and `#` is a comment and not part of the value.
    CommentInValue "COMMENT_IN_VALUE" Info Note "put the value in quotes if the text belongs to it";
    /// An alias was replaced by what it stands for.
    Alias "ALIAS_RESOLVED" Info Note "write the value out";
    /// A tag was ignored; nothing is ever constructed from one.
    Tag "TAG_IGNORED" Warning Note "delete the tag";

    // What the keys mean.
    /// There is no name; the directory gives it.
    NameMissing "NAME_MISSING" Warning Derived "add `name:`";
    /// The name cannot be used; the directory gives it.
    NameUnusable "NAME_UNUSABLE" Warning Derived "use lower-case letters, digits and hyphens, at most 64";
    /// There is no description; the first paragraph of the body is used.
    DescriptionMissing "DESCRIPTION_MISSING" Warning Derived "add `description:` and say when to use the skill";
    /// There is no description anywhere: a person can open the skill, the model is not told of it.
    NoDescription "NO_DESCRIPTION" Error Derived "add `description:` and say when to use the skill";
    /// A number or another YAML type stands where text is expected; its spelling is kept.
    NotText "VALUE_NOT_TEXT" Info Note "put the value in quotes";
    /// The description is a list; its items were joined.
    DescriptionList "DESCRIPTION_IS_LIST" Warning Repair "write the description as one text";
    /// The description is a mapping; one text of it is used.
    DescriptionMapping "DESCRIPTION_IS_MAPPING" Warning Repair "write the description as one text";
    /// A value has a shape that the key does not take; it is ignored.
    WrongShape "WRONG_SHAPE" Warning Repair "see the key in the documentation of SKILL.md";
    /// `metadata` is not a mapping; it is ignored.
    MetadataShape "METADATA_NOT_MAPPING" Warning Repair "write keys and values below `metadata:`";
    /// A key is not known; it is kept.
    UnknownKey "UNKNOWN_KEY" Info Note "move it below `metadata:` if it is yours";
    /// `permissions` holds a key that is not known.
    UnknownPermission "UNKNOWN_PERMISSION" Error Repair "use read, write, network, execute, tools, confirm and on_unexpected";
    /// A pattern cannot be read; it matches nothing.
    BadPattern "BAD_PATTERN" Warning Repair "correct the pattern";

    // What other programs will make of it.
    /// The name has characters that other programs may refuse.
    NameFormat "NAME_FORMAT" Warning Rule "use lower-case letters, digits and single hyphens";
    /// The name is longer than 64 characters.
    NameTooLong "NAME_TOO_LONG" Warning Rule "use at most 64 characters";
    /// The name differs from the name of the directory.
    NameDirectory "NAME_NOT_DIRECTORY" Warning Rule "give the directory the name of the skill";
    /// The name uses a reserved word.
    ReservedWord "RESERVED_WORD" Warning Note "choose a name without `claude` and `anthropic`";
    /// The file is not spelled SKILL.md.
    FileName "FILE_NAME" Warning Rule "rename it to SKILL.md";
    /// The description is longer than 1,024 characters.
    DescriptionTooLong "DESCRIPTION_TOO_LONG" Warning Rule "use at most 1,024 characters; other programs refuse the skill";
    /// The description holds markup; it is escaped wherever it is shown.
    Markup "MARKUP_IN_DESCRIPTION" Warning Note "write the description without tags";
    /// The text is a placeholder of a template.
    Placeholder "PLACEHOLDER" Warning Note "replace it with the real text";
    /// The body is empty.
    BodyEmpty "BODY_EMPTY" Warning Note "write instructions below the frontmatter";

    // How well it will serve.
    /// The description does not tell what the skill does to what.
    DescriptionVague "DESCRIPTION_VAGUE" Warning Advice "say what the skill does, to what, and when to use it";
    /// The description is longer than an entry of the listing; it is shortened there.
    DescriptionLong "DESCRIPTION_LONG" Info Advice "say the most important thing in the first sentence, or shorten it";
    /// Nothing says what the skill is not for.
    NoNegativeClause "NO_NEGATIVE_CLAUSE" Info Advice "add `not_for:` or a sentence such as `Not for …`, so that similar skills are told apart";
    /// The text tells the model to prefer this skill to others, or to ignore them.
    Shadowing "SHADOWING_TEXT" Warning Advice "say when the skill applies; which skill wins is not its own choice";
    /// The body holds instructions that are hidden from its reader or from the user.
    HiddenInstruction "HIDDEN_INSTRUCTION" Warning Advice "delete them, or write them where a reader sees them";
    /// The name mixes letters of scripts that look alike.
    MixedScriptName "MIXED_SCRIPT_NAME" Warning Advice "write the name in one script";
    /// Two names look alike.
    SimilarNames "SIMILAR_NAMES" Warning Advice "rename one of them";
    /// Two descriptions say nearly the same.
    SimilarDescriptions "SIMILAR_DESCRIPTIONS" Warning Advice "merge the two, or say in each what it is for and not for";
    /// The description mentions a tool that only another skill claims.
    ShadowsTool "SHADOWS_TOOL" Warning Advice "describe what this skill does; claim the tool in `permissions.tools` if it uses it";
    /// The skill does what cannot be undone, and its body asks for no confirmation.
    NoConfirmation "NO_CONFIRMATION" Warning Advice "tell in the body what must be confirmed by the user, and before which step";
    /// The body is prose without numbered steps.
    NoSteps "NO_STEPS" Info Advice "number the steps";
    /// The body does not say what the result looks like.
    NoOutputFormat "NO_OUTPUT_FORMAT" Info Advice "add a section that shows the form of the result";
    /// The body does not end with what must or must not be done.
    NoClosingConstraint "NO_CLOSING_CONSTRAINT" Info Advice "end with what must hold and what must not be done; a model weighs the end most";
    /// The body refers to a file that does not exist.
    ReferenceMissing "REFERENCE_MISSING" Warning Advice "add the file, or correct the path; paths start at the directory of SKILL.md";
    /// The body refers to a file outside the directory of the skill.
    ReferenceEscapes "REFERENCE_ESCAPES" Warning Advice "move the file into the directory of the skill";
    /// The skill declares permissions and no version.
    NoVersion "NO_VERSION" Warning Advice "add `version:`, and raise it with every change";
    /// The body never mentions a parameter.
    ParameterUnused "PARAMETER_UNUSED" Warning Advice "say in the body what the parameter is for, or delete it";
    /// A placeholder has no parameter.
    PlaceholderUnknown "PLACEHOLDER_UNKNOWN" Warning Advice "declare it in `parameters` or `arguments`, or correct its name";
    /// A pattern of tools has an unknown form.
    ToolPattern "TOOL_PATTERN" Warning Advice "write `Name`, `Name(pattern)`, `server/tool` or `mcp__server__tool`";
    /// Another program will show or do something else.
    ClientDifference "CLIENT_DIFFERENCE" Info Advice "see the section on other programs in the documentation of SKILL.md";
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
