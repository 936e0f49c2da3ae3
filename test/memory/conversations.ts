/**
 * Generated conversations: a Zipf-like vocabulary, so that a few words stand nearly everywhere, sentences that share the words of the
 * facts, and the facts themselves at seeded places. The same seed makes the same texts.
 */
import { QUESTIONS } from "./questions.ts";

export interface GeneratedEntry {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** A small generator of numbers below 1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const FREQUENT =
  "the of and a to in is it you that he was for on are with as i his they be at one have this from or had by not but what some we can out other were all there when up use your how said an each she which do their time if will way about many then them write would like so these her long make thing see him two has look more day could go come did number sound no most people my over know water than call first who may down side been now find".split(
    " ",
  );
/** Words that also stand in the facts, so that a fact is not found by one of its common words alone. */
const SHARED =
  "dentist appointment wifi password allergic booked trip invoice paid birthday present car plate needs new passport expires recipe flour moved spring server disk meeting room doctor cough library book due band plays train platform leaves alarm code asked warranty ends garden recommended parcel number held cat evening contract notice period shoe size neighbour spare key Tuesday Friday Monday euros euro month weeks".split(
    " ",
  );
const SYLLABLES =
  "ba be bi bo ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro sa se si so ta te ti to va vi".split(" ");

const RARE_WORDS = 20_000;
const rareWord = (n: number): string => {
  let word = "";
  for (let rest = n + 37; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    word += SYLLABLES[rest % SYLLABLES.length];
  return word;
};

export function sentence(random: () => number): string {
  const words: string[] = [];
  const count = 6 + Math.floor(random() * 18);
  for (let n = 0; n < count; n++) {
    const kind = random();
    if (kind < 0.62) words.push(FREQUENT[Math.floor(random() ** 2 * FREQUENT.length)] as string);
    else if (kind < 0.72) words.push(SHARED[Math.floor(random() * SHARED.length)] as string);
    else words.push(rareWord(Math.floor(random() ** 3 * RARE_WORDS)));
  }
  return `${words.join(" ")}.`;
}

/** So many entries, with every fact once. A fact is never in the last twentieth: it must not be found because it is new. */
export function* conversations(count: number, seed = 1): Generator<GeneratedEntry> {
  const random = seeded(seed);
  const places = new Map<number, (typeof QUESTIONS)[number]>();
  for (const question of QUESTIONS) {
    let place = Math.floor(random() * count * 0.95);
    while (places.has(place)) place = (place + 1) % count;
    places.set(place, question);
  }
  for (let n = 0; n < count; n++) {
    const fact = places.get(n);
    if (fact) {
      const around = `${sentence(random)} ${fact.fact} ${sentence(random)}`;
      yield { role: fact.speaker, text: around };
    } else yield { role: n % 2 === 0 ? "user" : "assistant", text: `${sentence(random)} ${sentence(random)}` };
  }
}
