package resolve

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// evalDir is the folder of tools and labelled queries of three public benchmarks
// and of an industrial set of our own; its README defines the measures.
func evalDir() string {
	if dir := os.Getenv("CAPD_RETRIEVAL_DATA"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "shared", "data", "retrieval")
}

type evalTool struct {
	ID                string
	Name              string
	Description       string
	Server            string
	ServerDescription string `json:"server_description"`
	Params            string
}

// doc maps a tool as the sync of an upstream server would.
func (t evalTool) doc() Doc {
	return Doc{
		ID: t.ID, Name: t.Name, Description: t.Description + "\n" + t.ServerDescription,
		Tags: []string{t.Server}, Parameters: []string{t.Params},
	}
}

type evalQuery struct {
	Query    string
	Source   string
	Relevant []string
	Groups   [][]string `json:"relevant_groups"`
}

// family is the group of sources that counts as one in the average.
func (q evalQuery) family() string {
	switch {
	case strings.HasPrefix(q.Source, "bfcl/live"):
		return "bfcl live"
	case strings.HasPrefix(q.Source, "bfcl/"):
		return "bfcl v4"
	}
	return q.Source
}

func load[T any](tb testing.TB, name string) []T {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(evalDir(), name))
	if os.IsNotExist(err) {
		tb.Skipf("no retrieval data at %s, so nothing is measured; CAPD_RETRIEVAL_DATA names another folder", evalDir())
	}
	if err != nil {
		tb.Fatal(err)
	}
	var out []T
	for line := range bytes.Lines(data) {
		var x T
		if err := json.Unmarshal(line, &x); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		out = append(out, x)
	}
	return out
}

func loadDocs(tb testing.TB, names ...string) []Doc {
	var docs []Doc
	for _, name := range names {
		for _, t := range load[evalTool](tb, name) {
			docs = append(docs, t.doc())
		}
	}
	return docs
}

// quality is recall over groups at 5 and 12, nDCG at 10 and MRR.
type quality struct{ recall5, recall12, ndcg, mrr float64 }

func (q *quality) add(x quality, share float64) {
	q.recall5 += x.recall5 * share
	q.recall12 += x.recall12 * share
	q.ndcg += x.ndcg * share
	q.mrr += x.mrr * share
}

// measure averages over the families of queries.
func measure(ix *Index, queries []evalQuery) (quality, map[string]quality) {
	byFamily := map[string][]quality{}
	for _, q := range queries {
		byFamily[q.family()] = append(byFamily[q.family()], rate(ix, q))
	}
	var all quality
	families := map[string]quality{}
	for name, list := range byFamily {
		var mean quality
		for _, x := range list {
			mean.add(x, 1/float64(len(list)))
		}
		families[name] = mean
		all.add(mean, 1/float64(len(byFamily)))
	}
	return all, families
}

func rate(ix *Index, q evalQuery) quality {
	var top []string
	for _, t := range ix.Resolve(Request{Query: q.Query, TopK: 100}).Tools {
		top = append(top, t.ID)
	}
	var x quality
	best := 0.0
	for i, id := range top {
		if !slices.Contains(q.Relevant, id) {
			continue
		}
		if x.mrr == 0 {
			x.mrr = 1 / float64(i+1)
		}
		if i < 10 {
			x.ndcg += 1 / math.Log2(float64(i+2))
		}
	}
	for i := range min(10, len(q.Relevant)) {
		best += 1 / math.Log2(float64(i+2))
	}
	x.ndcg /= best
	x.recall5, x.recall12 = recall(top, q.Groups, 5), recall(top, q.Groups, 12)
	return x
}

func recall(top []string, groups [][]string, k int) float64 {
	top = top[:min(k, len(top))]
	found := 0
	for _, group := range groups {
		if slices.ContainsFunc(group, func(id string) bool { return slices.Contains(top, id) }) {
			found++
		}
	}
	return float64(found) / float64(len(groups))
}

func TestRetrievalQuality(t *testing.T) {
	withSynonyms, without := newThesaurus(synonymTable), newThesaurus("")
	general, industrial := "tools.jsonl", "industrial_tools.jsonl"
	cases := []struct {
		name     string
		synonyms *thesaurus
		tools    []string
		queries  string
		floor    quality
	}{
		{"general", withSynonyms, []string{general}, "queries_dev.jsonl", quality{0.55, 0.65, 0.51, 0.53}},
		{"general without synonyms", without, []string{general}, "queries_dev.jsonl", quality{}},
		{"industrial", withSynonyms, []string{industrial}, "industrial_queries_dev.jsonl", quality{0.97, 0.98, 0.93, 0.92}},
		{"industrial without synonyms", without, []string{industrial}, "industrial_queries_dev.jsonl", quality{}},
		{"industrial among all", withSynonyms, []string{industrial, general}, "industrial_queries_dev.jsonl", quality{0.95, 0.97, 0.92, 0.9}},
		{"industrial among all without synonyms", without, []string{industrial, general}, "industrial_queries_dev.jsonl", quality{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ix := newIndex(loadDocs(t, c.tools...), c.synonyms)
			got, families := measure(ix, load[evalQuery](t, c.queries))
			t.Logf("R@5 %.3f  R@12 %.3f  nDCG@10 %.3f  MRR %.3f", got.recall5, got.recall12, got.ndcg, got.mrr)
			for _, name := range slices.Sorted(maps.Keys(families)) {
				q := families[name]
				t.Logf("  %-26s R@5 %.3f  R@12 %.3f  nDCG@10 %.3f  MRR %.3f", name, q.recall5, q.recall12, q.ndcg, q.mrr)
			}
			if got.recall5 < c.floor.recall5 || got.recall12 < c.floor.recall12 || got.ndcg < c.floor.ndcg || got.mrr < c.floor.mrr {
				t.Errorf("fell below R@5 %.3f  R@12 %.3f  nDCG@10 %.3f  MRR %.3f",
					c.floor.recall5, c.floor.recall12, c.floor.ndcg, c.floor.mrr)
			}
		})
	}
}
