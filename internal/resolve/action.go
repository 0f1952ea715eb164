package resolve

import (
	"cmp"
	"slices"
	"strings"

	"capd/internal/document"
	"capd/internal/registry"
)

// DocOf is an action as the ranking reads it. Both doors find with it, so that an agent and a technician find alike.
func DocOf(a *registry.Action) Doc {
	return Doc{ID: a.Name, Name: a.Name, Title: cmp.Or(a.Title, a.Contract.Title+" "+strings.ReplaceAll(a.ID, "_", " ")), Description: a.Description, Intents: a.Intents,
		Aliases: a.Asset.Aliases, Tags: a.Contract.Tags, Parameters: parametersOf(a.Parameters),
		Assets: []string{a.Asset.ID, a.Asset.Title, a.Asset.Class, strings.ReplaceAll(a.Asset.Location, "/", " ")}}
}

// parametersOf is the names and descriptions in a JSON Schema, with the unit as agents read it.
func parametersOf(schema *document.Node) []string {
	var texts []string
	properties := schema.Get("properties")
	for _, name := range slices.Sorted(slices.Values(properties.Keys())) {
		text := name + " " + properties.Get(name).Get("description").Text()
		if unit := properties.Get(name).Get("x-unit").Text(); unit != "" {
			text += " (unit: " + unit + ")"
		}
		texts = append(texts, text)
	}
	return texts
}
