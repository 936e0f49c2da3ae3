/**
 * Constructions that sound translated, and what to write instead. A rule prefers to miss a bad sentence over reporting a
 * good one: at least nine of ten hits must be worth a rewrite.
 */
import type { Sentence, TextKind } from "./find-texts.ts";

export interface WordRule {
  readonly name: string;
  readonly pattern: RegExp;
  /** The kinds of text it looks at; all if absent. */
  readonly kinds?: readonly TextKind[];
  readonly instead: string;
}

const TITLES: readonly TextKind[] = ["title", "group"];

export const WORD_RULES: readonly WordRule[] = [
  {
    name: "clause-title",
    kinds: TITLES,
    pattern: /^(?:of|that|which|whose|whom|who|what)\b(?! (?:if)\b)/i,
    instead: "start with a verb or name the subject: the title must be readable alone",
  },
  {
    name: "fragment-title",
    kinds: ["title"],
    pattern: /^(?:by|from|to|for|through|beside|behind|into) (?!default\b|now\b|example\b)[^,:]*$/i,
    instead: "start with a verb or name the subject: the title must be readable alone",
  },
  {
    name: "clause-comment",
    kinds: ["comment"],
    pattern: /^(?:What|Whose|Whom) (?!you\b|we\b|to\b|if\b|about\b|else\b|happen)[a-z'-]+\b(?! next)(?!.*\?$)/,
    instead: 'name the thing: "The limits of a request", or say what it does: "Finds an agent\'s owner"',
  },
  {
    name: "clause-doc",
    kinds: ["doc", "text"],
    pattern: /^(?:What|Whose|Whom) (?!you\b|we\b|to\b|if\b|about\b|else\b|happen)[a-z'-]+\b(?:.*[a-z)])\.$/,
    instead: 'name the thing: "Skipped messages are logged", not "What is skipped is logged"',
  },
  {
    name: "of-opening",
    kinds: ["comment", "text"],
    pattern: /^Of (?!course\b|these\b|those\b|them\b|all\b|the \w+ that\b)\w+/,
    instead: 'make it a sentence: "The second of two requests fails"',
  },
  {
    name: "is-no",
    pattern:
      /(?<!\b(?:there|here|no)(?:,? \w+)?)(?<!\bno) (?:is|are|was|were|be|been|being) (?:no(?! (?:longer|more|less|fewer|doubt|matter|different|better|worse|such|later|earlier)\b)|none|nothing(?! (?:to|more|less|but|left|new|wrong)\b))\b(?![.,;]$)/i,
    instead: '"is not a number", not "is no number"',
  },
  {
    name: "is-told",
    pattern:
      /\b(?:is|are|was|were|be|been|being|gets?) (?:not |only |then |also |never )?told\b(?! apart)|\b\w+ed,? and told\b(?! (?:me|us|you|them|it|him|her|the|a)\b)/i,
    instead: '"the client receives", "the error is reported"',
  },
  {
    name: "old-word",
    pattern:
      /\b(?:anew|whom|whomever|thereof|wherein|whereof|whence|thence|thereupon|forthwith|herewith|thereby|amongst|whilst)\b/i,
    instead: "use a modern word: again, who",
  },
  {
    name: "meanwhile",
    pattern: /(?<=\w) meanwhile\b(?!,)/i,
    instead: '"in the meantime", or say while what',
  },
  {
    name: "goes-on",
    pattern:
      /\b(?:goes|go|went) on\b(?! (?:to [a-z]+|the|a|an|its|their|one|top|disk|line|for(?:ever| \w+ (?:seconds|minutes)))\b)/i,
    instead: '"continues"',
  },
  {
    name: "comes-again",
    pattern: /\b(?:comes?|came|coming) again\b/i,
    instead: '"is delivered again", "is repeated"',
  },
  {
    name: "passes-over",
    pattern:
      /\b(?:is|are|was|were|be|been|not|and|it) passed over\b|(?<!\b(?:a|an|one|each|per|this|that|the|every|single|first|second|of|next|two|full|between|these|those) )\bpass(?:es)? over\b(?! (?:the (?:wire|network)|HTTP|TLS|TCP))/i,
    instead: '"skips", "ignores"',
  },
  {
    name: "stands",
    pattern:
      /\b(?:stands?|stood) (?:in(?! for\b| the way\b)|at|on(?! its own\b)|before|behind|under|beside|there|around|above|after|between|inside|together|here|side by side)\b/i,
    instead: '"is in", "comes before"',
  },
  {
    name: "also-if",
    pattern:
      /, also (?:if|where|while|when|after|before|with|without|in|at|on|for|from|by|during|to|of|those|that|one)\b|^Also (?:if|where|when|while)\b|(?<!\b(?:is|are|was|were|be|can|may|must|will|has|have)) also (?:if|while|where)\b/,
    instead: '"even if", "including", or a second sentence',
  },
  {
    name: "of-which",
    pattern:
      /(?<!\b(?:each|all|one|some|none|both|most|many|any|two|three|four|few|several|neither|either|half|part|parts|much|rest|first|last|the \w+),?) of which\b(?! (?:the (?:last|first|second)|one|two|three|four|\d+|only|neither|none|about)\b)|\bof whose\b/i,
    instead: '"whose", or two sentences',
  },
  {
    name: "is-to",
    pattern:
      /(?<!\b(?:goal|job|purpose|aim|idea|point|task|way|plan|work|rule|option|answer|fix|alternative|hard|easy|intent|default|step|thing|need|role) )\b(?:is|are|was|were) to (?:be [a-z]+(?:ed|en|de|nt|ld|pt|ut|ad)\b|do\b|have\b|[a-z]+\b(?! (?:the|a|\w+ (?:messages|bytes)) ))/i,
    instead: '"must", "should", "will", or a plain verb',
  },
  {
    name: "made-again",
    pattern:
      /\b(?:is|are|was|were|be|been|not) made again\b(?! and again)(?<!\bcalls?\b.{0,80})|\b(?:makes?|made|making) (?:no |the |a |an |one )(?!call|request|room|run)\w+ again\b(?! and again)/i,
    instead: '"recreates", "repeats"',
  },
  {
    name: "split-clause",
    pattern: /\bagain (?:that|which|who|whose) (?!is why)/i,
    instead: 'keep the clause at its noun: "rewrites a file that someone changed"',
  },
  {
    name: "of-no-one",
    pattern: /\bof (?:no one|nobody)\b|\b(?:is|are) nobody's\b/i,
    instead: '"without an owner", "that belongs to no one"',
  },
  {
    name: "so-many",
    pattern:
      /\bso (?:many|much|often|few)\b(?!(?: [\w-]+){0,4} (?:that|as)\b| for\b|\.$)|\bat most so long\b|\bso long ago\b|\bas (?:many|much|long) as (?:wanted|asked for)\b/i,
    instead: '"N", "this many", "the given number of"',
  },
  {
    name: "nothing-of",
    pattern:
      /(?<!\b(?:asks?|asked|expects?|requires?|demands?) )\b(?:nothing|anything|something) of (?!value\b|interest\b|that (?:kind|sort)\b|the kind\b|use\b)\w+/i,
    instead: '"no part of", "none of"',
  },
  {
    name: "says-of",
    pattern:
      /\b(?:says?|tells?|knows?|hears?) of (?:a|an|any|the|it|its|itself|our|them|which|each|every|X|%s|no|all|himself|other|another|both|that|this|runs|files)\b/i,
    instead: '"says about", "reports for each"',
  },
  {
    name: "kept-of",
    pattern:
      /\b(?:known|kept|shown|stored|remembers|keeps?|knows?|shows?|sees?) (?:people )?of (?:a|an|it|its|them|people|each|X|what|this|their|every|the)\b/i,
    instead: '"known about", or name the part',
  },
  {
    name: "room",
    pattern:
      /^(?=.*\b(?:layers?|imports?|folders?|map)\b).*(?<!\bcontrol |\bchat |\bno |\bmore |\bmakes? |\bfor |\bleaves? )\brooms?\b(?! (?:for|to)\b)|\bfree room\b|\brooms? back\b|\broom on the disk\b|\bits room\b|\bthe room that\b|\bwithout room\b/i,
    instead: '"folder" for code, "space" for bytes',
  },
  {
    name: "on-its-way",
    pattern:
      /\b(?:people|persons?|everyone|anyone|someone|who|whoever|both|else|they|others?|strictest|verdict|task|sender)\b.{0,40} on (?:the|its|their) way\b(?! to)|\bon the way of\b/i,
    instead: '"the people a run acts for", "involved in"',
  },
  {
    name: "door",
    pattern:
      /\b(?:front|back|public|one|a|the|only|its|every|each|this) doors?\b(?! bell)|\broads?\b|\bdrawers? (?:for|of)\b/i,
    instead: '"entry point", "proxy", "path"',
  },
  {
    name: "beside",
    pattern:
      /\bbeside (?:each other|(?:an?|the) (?:running )?(?:engine|conversation|program|token|prompt|run|people|messages?|others?)|all|rules)\b|\bmade beside\b/i,
    instead: '"while an engine runs", "in addition to", "at the same time"',
  },
  {
    name: "behind",
    pattern:
      /\b(?:entry|entries|position|words?|messages?|those|lines?|space|header|named|continues?|waits?|rows?|directives?) behind (?!a (?:proxy|firewall|link|tunnel)\b|schedule\b)\w+|\bbehind the (?:last|first|text|words|current|end)\b|\bbehind (?:an event|each full)\b/i,
    instead: '"after"',
  },
  {
    name: "signs",
    pattern: /\b(?:any|other|these|such|between|all|special|strange|and|those) signs\b(?! of\b| in\b)|^Signs that\b/i,
    instead: '"characters"',
  },
  {
    name: "brings",
    pattern:
      /\b(?:brings?|brought)\b(?!(?:(?: \S+){0,5} (?:back|up|down|together|in|about|online|along|closer)\b| (?:\w+ )?to an? (?:end|stop|rest)))/i,
    instead: '"delivers", "contains", "comes with"',
  },
  {
    name: "taken-for",
    pattern: /\b(?:is|are|was|were|be|been) (?:not |never )?taken for (?!granted)/i,
    instead: '"is treated as", "is mistaken for"',
  },
  {
    name: "hears",
    pattern: /(?<!\bnever )\b(?:hears?|heard)\b/i,
    instead: '"receives", "is notified"',
  },
  {
    name: "is-of",
    pattern: /\b(?:is|are|was|were) of (?:an?|its|another|one|no|the (?!same|form|type|kind|size|order|essence))\b/i,
    instead: '"belongs to", "comes from"',
  },
  {
    name: "of-product",
    pattern:
      /\b(?!(?:[Vv]ersion|[Uu]se|[Rr]est|[Pp]art|[Oo]ne|[Cc]opy|[Ss]upport|[Rr]elease|[Uu]pdate|[Uu]pgrade|[Mm]ost|[Aa]ll|[Aa]ny|[Ii]nstance|[Kk]ind|[Ss]ome|[Ss]tart|[Ee]nd|[Oo]wner|anything|nothing)s?\b)\w+ of (?:Telegram|WhatsApp|Slack|Discord|SQLite|PostgreSQL|Docker|GitHub|Node)\b(?!')/,
    instead: '"a Telegram bot", not "a bot of Telegram"',
  },
];

/** The rules that a sentence breaks. */
export const brokenRules = ({ kind, text }: Pick<Sentence, "kind" | "text">): readonly WordRule[] =>
  WORD_RULES.filter(({ kinds, pattern }) => (kinds?.includes(kind) ?? true) && pattern.test(text));
