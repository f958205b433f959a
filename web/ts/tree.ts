// The Merkle tree of the audit log, as RFC 6962 has it: enough of it to check
// the server's proofs here, where the server can't help itself.

/** Checkpoint is what a signed note says about the log. */
export interface Checkpoint {
  origin: string;
  size: number;
  root: string; // base64
}

/** parseCheckpoint reads a note, or returns null where it is none. */
export function parseCheckpoint(note: string): Checkpoint | null {
  const [origin, size, root] = note.split("\n");
  if (!origin || !size || !root || !/^\d+$/.test(size)) return null;
  return { origin, size: Number(size), root };
}

type Hash = Uint8Array<ArrayBuffer>;

async function sha256(...parts: Uint8Array[]): Promise<Hash> {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    all.set(p, at);
    at += p.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
}

const node = (left: Hash, right: Hash): Promise<Hash> => sha256(Uint8Array.of(1), left, right);

function decode(base64: string): Hash {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

function same(a: Hash, base64: string): boolean {
  const b = decode(base64);
  return a.length === b.length && a.every((v, i) => v === b[i]);
}

/** included checks that a line is the record number seq of the log. */
export async function included(line: string, seq: number, hashes: string[], head: Checkpoint): Promise<boolean> {
  if (seq >= head.size) return false;
  let hash = await sha256(Uint8Array.of(0), new TextEncoder().encode(line));
  let index = seq;
  let last = head.size - 1;
  for (const h of hashes) {
    if (last === 0) return false;
    if (index % 2 === 1 || index === last) {
      hash = await node(decode(h), hash);
      while (index % 2 === 0 && index > 0) {
        index = half(index);
        last = half(last);
      }
    } else {
      hash = await node(hash, decode(h));
    }
    index = half(index);
    last = half(last);
  }
  return last === 0 && same(hash, head.root);
}

/** grew checks that the log at older is the beginning of the log at newer. */
export async function grew(older: Checkpoint, newer: Checkpoint, hashes: string[]): Promise<boolean> {
  if (older.size > newer.size || older.size === 0) return false;
  if (older.size === newer.size) return older.root === newer.root;
  const path = hashes.map(decode);
  // Where the older log is one whole tree, its root begins the path.
  if (Number.isInteger(Math.log2(older.size))) path.unshift(decode(older.root));
  let [index, last] = [older.size - 1, newer.size - 1];
  while (index % 2 === 1) [index, last] = [half(index), half(last)];
  const first = path.shift();
  if (!first) return false;
  let [was, is] = [first, first];
  for (const h of path) {
    if (last === 0) return false;
    if (index % 2 === 1 || index === last) {
      was = await node(h, was);
      is = await node(h, is);
      while (index % 2 === 0 && index > 0) [index, last] = [half(index), half(last)];
    } else {
      is = await node(is, h);
    }
    [index, last] = [half(index), half(last)];
  }
  return last === 0 && same(was, older.root) && same(is, newer.root);
}

const half = (n: number): number => Math.floor(n / 2);
