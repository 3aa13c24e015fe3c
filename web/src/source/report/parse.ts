/**
 * Filters as a report takes them apart itself, by the same grammar as the server (views/timeline/filters/parse.py):
 *
 *     any := all ("or" all)*     all := one ("and" one)*     one := "not" one | "(" any ")" | NAME op value | NAME "in" list
 */
import { Refused } from "../types";

export type Value = number | string;
export type Node =
  | { is: "term"; name: string; op: string; value: Value; ranges: [Value, Value][]; at: number }
  | { is: "not"; one: Node }
  | { is: "and" | "or"; parts: Node[] };

interface Token {
  kind: "text" | "op" | "word" | "join" | "end";
  text: string;
  at: number;
}

const TOKEN =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(==|!=|<=|>=|!~|=~|&&|\|\||[=<>&~!(),])|([^\s()=<>&|~!,"']+))/sy;
const NUMBER = /^-?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?)$/;
const RANGE = /^(\d+)-(\d+)$/;
const OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "&", "~", "!~"];
const MEANT: Record<string, string> = { "=": "==", "=~": "~" };
const JOINING: Record<string, string> = { "&&": "and", "||": "or", "!": "not" };
const MOST_DEPTH = 64;

function tokens(text: string): Token[] {
  const out: Token[] = [];
  const end = text.trimEnd().length;
  let at = 0;
  while (at < end) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) {
      const begin = text.length - text.slice(at).trimStart().length;
      throw new Refused(`'${text[begin]}' means nothing here, or has no end`, "", begin);
    }
    at = TOKEN.lastIndex;
    const [, quoted, op, word] = found;
    const said = quoted ?? op ?? word ?? "";
    const joined = op ? JOINING[op] : /^(?:and|or|not)$/i.test(said) && word ? said.toLowerCase() : undefined;
    const kind = joined ? "join" : quoted !== undefined ? "text" : op ? "op" : "word";
    out.push({ kind, text: joined ?? said, at: at - said.length });
  }
  out.push({ kind: "end", text: "", at: end });
  return out;
}

class Parser {
  private next = 0;
  private readonly all: Token[];

  constructor(text: string) {
    this.all = tokens(text);
  }

  whole(): Node | null {
    if (this.see().kind === "end") return null;
    const node = this.any(0);
    if (this.see().kind !== "end") throw this.wrong(`'${this.see().text}' is not expected here`);
    return node;
  }

  private see(): Token {
    return this.all[this.next]!;
  }

  private take(): Token {
    const token = this.see();
    if (token.kind !== "end") this.next++;
    return token;
  }

  private wrong(message: string): Refused {
    return new Refused(message, "", this.see().at);
  }

  private is(kind: Token["kind"], text: string): boolean {
    return this.see().kind === kind && this.see().text === text;
  }

  private any(depth: number): Node {
    return this.joined("or", () => this.joined("and", () => this.one(depth)));
  }

  private joined(word: "and" | "or", part: () => Node): Node {
    const parts = [part()];
    while (this.is("join", word)) {
      this.take();
      parts.push(part());
    }
    return parts.length === 1 ? parts[0]! : { is: word, parts };
  }

  private one(depth: number): Node {
    if (depth > MOST_DEPTH) throw this.wrong("this nests too deeply");
    if (this.is("join", "not")) {
      this.take();
      return { is: "not", one: this.one(depth + 1) };
    }
    if (!this.is("op", "(")) return this.term();
    const opened = this.take();
    const node = this.any(depth + 1);
    if (!this.is("op", ")")) throw new Refused("this ( is not closed", "", opened.at);
    this.take();
    return node;
  }

  private term(): Node {
    if (this.see().kind !== "word") throw this.wrong(`a name is expected before '${this.see().text || "the end"}'`);
    const { text: name, at } = this.take();
    if (this.see().kind === "word" && this.see().text.toLowerCase() === "in") {
      this.take();
      const ranges = [this.range()];
      while (this.is("op", ",")) {
        this.take();
        ranges.push(this.range());
      }
      return { is: "term", name, op: "in", value: "", ranges, at };
    }
    const op = MEANT[this.see().text] ?? this.see().text;
    if (this.see().kind !== "op" || !OPERATORS.includes(op))
      throw this.wrong(`an operator is expected behind '${name}'`);
    this.take();
    return { is: "term", name, op, value: this.value(), ranges: [], at };
  }

  private range(): [Value, Value] {
    const found = this.see().kind === "word" ? RANGE.exec(this.see().text) : null;
    if (found) {
      this.take();
      return [Number(found[1]), Number(found[2])];
    }
    const value = this.value();
    return [value, value];
  }

  private value(): Value {
    const { kind, text } = this.see();
    if (kind !== "text" && kind !== "word") throw this.wrong("a value is expected here");
    this.take();
    if (kind === "text") return text.slice(1, -1).replace(/\\(.)/gs, "$1");
    return NUMBER.test(text) ? (text.startsWith("-0") ? -Number(text.slice(1)) : Number(text)) : text;
  }
}

/** Null of an empty filter. Throws Refused, with the place. */
export function parse(text: string): Node | null {
  return new Parser(text).whole();
}
