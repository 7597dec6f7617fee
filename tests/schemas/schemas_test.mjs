/*
 * The schemas of docs/schemas against an independent validator (Ajv), the files of the project, and
 * what the reader of petrasim says of the same files.
 *
 * Usage: node schemas_test.mjs NODE_MODULES ROOT PROGRAM
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

import { linesByFile, mutantsOf, pointersOf, quantityTexts, withValue } from './documents.mjs';

const [modules, root, program] = process.argv.slice(2);
const { default: Ajv2020 } = createRequire(path.join(modules, 'x'))('ajv/dist/2020');

const schemaFolder = path.join(root, 'docs/schemas');
const corpus = path.join(root, 'tests/data/config');
const examples = path.join(root, 'tests/schemas/examples');
const beyond = JSON.parse(fs.readFileSync(path.join(root, 'tests/schemas/beyond.json'), 'utf8'))
  .faults.map((entry) => ({ ...entry, pattern: new RegExp(entry.message) }));

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'psim-schemas-'));
after(() => fs.rmSync(scratch, { recursive: true }));

function schemaTexts() {
  const names = fs.readdirSync(schemaFolder).filter((name) => name.endsWith('.schema.json'));

  return new Map(names.map((name) =>
    [name, fs.readFileSync(path.join(schemaFolder, name), 'utf8')]));
}

/* The validator of any file of petrasim; its errors are those of the last call. */
function validatorOf(texts) {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictTuples: false });

  for (const [name, text] of texts)
    ajv.addSchema(JSON.parse(text), name);
  return ajv.getSchema('petrasim.schema.json');
}

const validate = validatorOf(schemaTexts());

function jsonFiles(folder) {
  return fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/* The document; undefined when the bytes are no JSON text or hold a number too large for one. */
function parse(bytes) {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), (key, value) => {
      assert.ok(typeof value !== 'number' || Number.isFinite(value));
      return value;
    });
  } catch {
    return undefined;
  }
}

function complaints(document, validator = validate) {
  return validator(document) ? [] : validator.errors.map((e) => `${e.instancePath}: ${e.message}`);
}

/*
 * Holds what the reader says of a document against what the schema says of it: each line of the
 * reader must be matched by an error at the same place or be of a kind that schemas cannot express.
 * With `exact` it must not be both; else it may also follow from an error inside that place, as
 * what the reader says of the text as a whole always may.  `used` collects the kinds.
 */
function disagreements(document, lines, options) {
  const { exact = false, validator = validate, kinds = beyond, used } = options;
  const valid = validator(document);
  const places = pointersOf(valid ? [] : validator.errors);
  const found = [];

  if (!valid && lines.length === 0)
    found.push(`only the schema rejects it: ${complaints(document, validator).join('; ')}`);
  for (const line of lines) {
    const kind = kinds.find((entry) => entry.pattern.test(line.message));
    const expressed = places.has(line.pointer);
    const follows = (!exact || line.message === 'this number is too large') &&
      [...places].some((place) => place.startsWith(`${line.pointer}/`));

    if (!expressed && !kind && !follows)
      found.push(`only the reader says: ${line.pointer}: ${line.message}`);
    if (exact && expressed && kind)
      found.push(`listed as beyond schemas, but the schema sees: ${line.pointer}: ${line.message}`);
    if (!expressed && kind)
      used?.add(kind);
  }
  if (exact && !valid && lines.every((line) => kinds.some((k) => k.pattern.test(line.message))))
    found.push(`beyond schemas by the list, but: ${complaints(document, validator).join('; ')}`);
  return found;
}

/* What `petrasim check` says of each document, by its name, beside the valid files in `scratch`. */
function readerLines(documents) {
  for (const [name, document] of documents)
    fs.writeFileSync(path.join(scratch, name), JSON.stringify(document));
  const { stdout, stderr, status } = spawnSync(program,
    ['check', '--catalogue', path.join(corpus, 'catalogue'), ...documents.keys()],
    { cwd: scratch, encoding: 'utf8', maxBuffer: 1 << 28 });

  for (const name of documents.keys())
    fs.rmSync(path.join(scratch, name));
  assert.ok(status === 0 || status === 3, `check ended with ${status}: ${stderr.slice(-500)}`);
  return linesByFile(stdout + stderr);
}

const kindsUsed = new Set();

test('every_shipped_file_is_valid', () => {
  const folders = ['platforms', 'scenarios', 'reports/table1', 'tests/data/config/valid',
    'tests/data/report', 'tests/schemas/examples'];
  const counts = {};

  for (const file of folders.flatMap((folder) => jsonFiles(path.join(root, folder)))) {
    const document = parse(fs.readFileSync(file));

    counts[document.petrasim] = (counts[document.petrasim] ?? 0) + 1;
    if (document.petrasim !== 'expected/1') /* of the tests alone: no user writes one */
      assert.deepEqual(complaints(document), [], file);
  }
  assert.deepEqual(Object.keys(counts).sort(),
    ['collectives/1', 'device/1', 'expected/1', 'model/1', 'plan/1', 'platform/1',
      'result/1', 'scenario/1', 'sweep/1']);
});

test('every_result_is_valid', () => {
  const scenarios = [path.join(root, 'scenarios/smoke'), examples].flatMap(jsonFiles)
    .filter((file) => parse(fs.readFileSync(file)).petrasim === 'scenario/1');

  assert.ok(scenarios.length >= 5);
  for (const file of scenarios) {
    const result = parse(execFileSync(program, ['run', file, '--format', 'json'],
      { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 }));

    assert.deepEqual(complaints(result), [], file);
    assert.notDeepEqual(complaints({ ...result, more: 1 }), []);
    for (const key of Object.keys(result.results[0]))
      assert.notDeepEqual(complaints(withValue(result, ['results', 0, key], undefined)), [], key);
  }
});

test('every_invalid_file_is_rejected_where_a_schema_can_see_the_fault', () => {
  const folder = path.join(corpus, 'invalid');
  const found = [];
  let rejected = 0;

  for (const name of fs.readdirSync(folder)) {
    const lines = linesByFile(fs.readFileSync(path.join(folder, name, 'expected'), 'utf8'));

    for (const [file, ofFile] of lines) {
      const document = parse(fs.readFileSync(path.join(folder, name, file)));

      if (document !== undefined)
        found.push(...disagreements(document, ofFile, { exact: true, used: kindsUsed })
          .map((what) => `${name}/${file}: ${what}`));
      rejected += document === undefined || complaints(document).length > 0 ? 1 : 0;
    }
  }
  assert.deepEqual(found, []);
  assert.ok(rejected >= 60, `only ${rejected} files are rejected`);
});

/* The valid files with one key or value changed: both must see it, or neither. */
test('reader_and_schema_agree_on_every_small_change', () => {
  const found = [];
  let count = 0;

  for (const folder of [path.join(corpus, 'valid'), examples])
    for (const file of jsonFiles(folder))
      fs.copyFileSync(file, path.join(scratch, path.basename(file)));
  for (const file of jsonFiles(scratch)) {
    const documents = new Map(), changes = new Map();

    for (const { document, change } of mutantsOf(parse(fs.readFileSync(file)))) {
      const name = `changed${documents.size}.json`;

      documents.set(name, document);
      changes.set(name, `${path.basename(file)} with ${change}`);
    }
    const lines = readerLines(documents);

    count += documents.size;
    for (const [name, document] of documents)
      found.push(...disagreements(document, lines.get(name) ?? [], { used: kindsUsed })
        .map((what) => `${changes.get(name)}: ${what}`));
  }
  assert.deepEqual(found, []);
  assert.ok(count >= 5000, `only ${count} changes`);
});

test('quantities_are_spelt_as_the_reader_reads_them', () => {
  const device = parse(fs.readFileSync(path.join(examples, 'every_device_key.json')));
  const places = [['memory'], ['memory_bandwidth'], ['peak', 'fp32'],
    ['cost', 'default', 'any', 'launch'], ['reserve', 'context'], ['power', 'idle'],
    ['price', 'per_hour']];
  const documents = new Map();
  let accepted = 0;

  for (const place of places)
    for (const text of quantityTexts())
      documents.set(`quantity${documents.size}.json`, withValue(device, place, text));
  const lines = readerLines(documents);

  for (const [name, document] of documents) {
    assert.equal(validate(document), !lines.has(name), JSON.stringify(document));
    accepted += lines.has(name) ? 0 : 1;
  }
  assert.ok(accepted >= 200 && accepted <= documents.size / 2, `${accepted} of ${documents.size}`);
});

test('no_kind_of_fault_is_listed_in_vain', () => {
  assert.deepEqual(beyond.filter((kind) => !kindsUsed.has(kind)).map((kind) => kind.fault), []);
});

/* The checks above, each shown what it must find. */
test('a_wrong_schema_or_list_is_found_out', () => {
  const text = schemaTexts().get('scenario-1.schema.json');
  const scenario = parse(fs.readFileSync(path.join(corpus, 'valid/minimal.json')));
  const where = { pointer: '/batch/zzz', message: 'unknown key "zzz"' };
  const unknownKey = withValue(scenario, ['batch', 'zzz'], 1);
  const changed = (key, value) => {
    const schema = JSON.parse(text);

    schema.properties.batch[key] = value;
    return validatorOf(schemaTexts().set('scenario-1.schema.json', JSON.stringify(schema)));
  };
  const lax = changed('additionalProperties', true);
  const strict = changed('required', ['microbatch', 'accumulation']);

  assert.deepEqual(disagreements(unknownKey, [where], {}), []);
  assert.equal(disagreements(unknownKey, [where], { validator: lax }).length, 1);
  assert.equal(disagreements(scenario, [], { validator: strict }).length, 1);
  assert.equal(disagreements(unknownKey, [{ ...where, pointer: '/model' }], {}).length, 1);
  assert.equal(disagreements(unknownKey, [where],
    { exact: true, kinds: [{ fault: 'wrongly listed', pattern: /unknown key/ }] }).length, 2);
});
