// Judges what the conformance suites wrote: one line for each scenario of scenarios.tsv.
// usage: node judge.mjs SCENARIOS RESULTS    (RESULTS/SUITE/server-SCENARIO-TIME/checks.json)
//
// A scenario passes if at least one of its checks succeeded and none failed or warned, but for those that scenarios.tsv names. One that is named and
// succeeds is a failure too: the list is out of date.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [list, results] = process.argv.slice(2);
const wanted = new Map(); // "SUITE SCENARIO" -> ids that are not judged
for (const line of readFileSync(list, 'utf8').split('\n')) {
  if (line === '' || line.startsWith('#')) continue;
  const [suite, scenario, exempt] = line.split('\t');
  const key = `${suite} ${scenario}`;
  if (!wanted.has(key)) wanted.set(key, new Set());
  if (exempt) wanted.get(key).add(exempt.split(' ')[0]);
}

function checksOf(suite, scenario) {
  const folder = join(results, suite);
  const name = new RegExp(`^server-${scenario}-\\d{4}-`);
  const found = existsSync(folder) ? readdirSync(folder).filter((entry) => name.test(entry)) : [];
  return found.flatMap((entry) => JSON.parse(readFileSync(join(folder, entry, 'checks.json'), 'utf8')));
}

let failed = 0;
for (const [key, exempt] of wanted) {
  const checks = checksOf(...key.split(' '));
  const succeeded = checks.filter((c) => c.status === 'SUCCESS');
  const problems = checks
    .filter((c) => ['FAILURE', 'WARNING'].includes(c.status) && !exempt.has(c.id))
    .map((c) => `${c.status} ${c.id}: ${c.errorMessage ?? c.description}`);
  if (succeeded.length === 0) problems.push('no check of it ran');
  for (const c of succeeded.filter((c) => exempt.has(c.id))) problems.push(`${c.id} succeeds now: take it off scenarios.tsv`);
  console.log(`${problems.length ? 'FAIL ' : 'ok   '} ${key}: ${succeeded.length} checks succeeded`);
  for (const p of problems) console.log(`      ${p.slice(0, 400)}`);
  failed += problems.length ? 1 : 0;
}
process.exit(failed ? 1 : 0);
