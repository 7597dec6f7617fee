/*
 * What schemas_test.mjs needs to know of JSON documents: small changes of them, places in them, and
 * the lines that the reader prints of them.
 */

/* A copy with the value at a list of keys replaced; undefined removes it. */
export function withValue(document, place, value) {
  const copy = structuredClone(document);
  const holder = place.slice(0, -1).reduce((node, key) => node[key], copy);

  if (value === undefined && Array.isArray(holder))
    holder.splice(place.at(-1), 1);
  else if (value === undefined)
    delete holder[place.at(-1)];
  else
    holder[place.at(-1)] = value;
  return copy;
}

const values = [null, true, 0, -1, 1.5, 7, '', 'zz', 'tab\there', '0 s', '3 GB/s', '-2 B', '1e0 us',
  [], ['zz', 1], {}];

/* The places of all values; of long lists the first three elements. */
function* placesOf(value, place = []) {
  const keys = Array.isArray(value) ? [...value.keys()].slice(0, 3)
    : value !== null && typeof value === 'object' ? Object.keys(value) : [];

  yield place;
  for (const key of keys)
    yield* placesOf(value[key], [...place, key]);
}

function valueAt(document, place) {
  return place.reduce((node, key) => node[key], document);
}

/* Documents that differ from a valid one in one place, and how. */
export function* mutantsOf(document) {
  for (const place of placesOf(document)) {
    const value = valueAt(document, place);
    const name = `/${place.join('/')}`;

    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      for (const key of ['zz_unknown', '_comment'])
        yield { document: withValue(document, [...place, key], 1), change: `${name}/${key} added` };
    if (place.length === 0)
      continue;
    yield { document: withValue(document, place, undefined), change: `${name} removed` };
    for (const other of values) {
      const change = `${name} ${JSON.stringify(other)}`;

      yield { document: withValue(document, place, other), change };
    }
  }
}

function escaped(key) {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/* JSON pointers of what Ajv complains of; a key that must not be is a place of its own. */
export function pointersOf(errors) {
  const places = new Set();

  for (const error of errors) {
    if (error.keyword === 'if')
      continue; /* says only that a branch failed, whose errors are there too */
    if (error.keyword === 'additionalProperties')
      places.add(error.instancePath + escaped(error.params.additionalProperty));
    else if (error.propertyName !== undefined)
      places.add(error.instancePath + escaped(error.propertyName));
    else
      places.add(error.instancePath);
    if (error.keyword === 'uniqueItems')
      for (const index of [error.params.i, error.params.j])
        places.add(`${error.instancePath}/${index}`);
  }
  return places;
}

const step = /^(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\])/;

/* ".links[2].latency: must ..." as a JSON pointer and the message. */
function splitPath(text) {
  let pointer = '', rest = text;

  for (let found = step.exec(rest); found; found = step.exec(rest)) {
    pointer += escaped(found[1] ?? found[2] ?? JSON.parse(found[3]));
    rest = rest.slice(found[0].length);
  }
  return pointer !== '' && rest.startsWith(': ') ? { pointer, message: rest.slice(2) }
    : { pointer: '', message: text };
}

/* The errors that petrasim printed, by the file that they are in. */
export function linesByFile(text) {
  const files = new Map();

  for (const line of text.split('\n')) {
    const found = /^(.*?)(?::\d+:\d+)?: error: (.*)$/.exec(line);

    if (!found)
      continue;
    if (!files.has(found[1]))
      files.set(found[1], []);
    files.get(found[1]).push(splitPath(found[2]));
  }
  return files;
}

const units = [
  'B', 'kB', 'MB', 'GB', 'TB', 'KiB', 'MiB', 'GiB', 'TiB', 'b', 'KB', 'kiB', 'PB', 'PiB', 'Gb',
  'B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s', 'KiB/s', 'MiB/s', 'GiB/s', 'TiB/s', 'b/s', 'kb/s',
  'Mb/s', 'Gb/s', 'Tb/s', 'Kb/s', 'gb/s', 'Gib/s', 'Gbps', 's', 'ms', 'us', 'ns', 'ps', 'S',
  'sec', 'min', 'h', 'FLOP/s', 'MFLOP/s', 'GFLOP/s', 'TFLOP/s', 'PFLOP/s', 'TFLOPS', 'TFLOP',
  'mW', 'W', 'kW', 'w', 'USD/h', 'USD', 'EUR/h', 'usd/h', '',
];
const numbers = [
  '1', '1.5', '0.25', '0', '0.0', '00', '-0', '-1', '+1', '+0', '007', '1.', '.5', '1e3', '1E+3',
  '1e-3', '1e', '1e+', '0e5', '0.0e5', '--1', '1,5', '1_0', '', 'inf', 'NaN', '0x10',
];

/* Texts that are a quantity of some dimension, and near misses. */
export function quantityTexts() {
  const texts = units.flatMap((unit) => [`12 ${unit}`, `12${unit}`, `12   ${unit}`, `12\t${unit}`,
    `12 ${unit} `, ` 12 ${unit}`, `12 ${unit}\n`, unit]);

  for (const unit of ['GiB', 'GB/s', 'us', 'TFLOP/s', 'W', 'USD/h'])
    texts.push(...numbers.map((number) => `${number} ${unit}`));
  return [...new Set(texts)];
}
