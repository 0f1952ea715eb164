package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"capd/internal/importer/draft"
	"capd/internal/importer/registerlist"
	"capd/internal/importer/sunspec"
)

func importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make an inventory file out of what a plant has",
		Long: `Writes an inventory file to standard output, for an engineer to go through. Nothing in it is enabled: every point is read only, and what the
source does not say is left open with a comment.`,
		Args: subcommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage(cmd, "say what: capd import csv or capd import sunspec")
		},
	}
	cmd.AddCommand(importCSVCommand(), importSunSpecCommand())
	return cmd
}

func targetFlags(cmd *cobra.Command, t *draft.Target) {
	f := cmd.Flags()
	f.StringVar(&t.Link, "link", "", "id of the link")
	f.StringVar(&t.Device, "device", "", "id of the device")
	f.StringVar(&t.Asset, "asset", "", "id of the asset")
	f.StringVar(&t.Title, "title", "", "title of the asset")
	f.StringVar(&t.Location, "location", "", "where the asset stands, such as plant/ps07/discharge")
	f.IntVar(&t.UnitID, "unit", 1, "unit id")
}

func importCSVCommand() *cobra.Command {
	var t draft.Target
	var o registerlist.Options
	base := ""
	cmd := &cobra.Command{
		Use:   "csv FILE",
		Short: "From a register list, as plants keep it in Excel",
		Long: `Reads a register list exported as CSV: semicolons, commas or tabs, decimal commas, any usual encoding, headings in English, German or Chinese, addresses
in any notation. What the addresses count from is found out for the list as a whole and explained in the file; --base forces it.
Rows that cannot be used are told on standard error, with their line; the others are not lost.`,
		Example: `  capd import csv registers.csv --link PLC-NET --device PS07-PLC --asset PS07-AUX > /etc/capd/assets.d/aux.yaml`,
		Args:    takes(1, 1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			o.Base = registerlist.Base(base)
			list, problems := registerlist.Read(args[0], data, o)
			for _, p := range problems {
				cmd.PrintErrln(p.Error())
			}
			if len(list.Points) == 0 {
				return fmt.Errorf("%s: no row became a point", args[0])
			}
			_, err = cmd.OutOrStdout().Write(list.Inventory(t))
			return err
		},
	}
	targetFlags(cmd, &t)
	cmd.Flags().StringVar(&t.Endpoint, "endpoint", "", "host:port of the device, where the link is to be declared too")
	cmd.Flags().StringVar(&base, "base", "", "what plain addresses count from: zero, one or modicon (40001)")
	cmd.Flags().StringVar(&o.Encoding, "encoding", "", "utf-8, utf-16le, utf-16be, windows-1252 or gb18030, instead of finding out")
	cmd.Flags().StringVar(&o.Table, "table", "", "table of rows that name none")
	return cmd
}

func importSunSpecCommand() *cobra.Command {
	var t draft.Target
	var w wire
	cmd := &cobra.Command{
		Use:     "sunspec ENDPOINT",
		Short:   "From a device that describes itself by SunSpec models",
		Long:    `Looks for the SunSpec mark, walks the chain of models and writes their points, with scale factors and markers for "not implemented". Nothing is written to the device.`,
		Example: `  capd import sunspec 10.1.2.40 --unit 126 --asset INVERTER-1`,
		Args:    takes(1, 1, "one endpoint, such as 10.1.2.40 or /dev/ttyS1"),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.endpoint = args[0]
			if !w.serial() {
				t.Endpoint = w.endpoint
			}
			unit, err := w.open(t.UnitID)
			if err != nil {
				return err
			}
			device, err := sunspec.Discover(cmd.Context(), unit)
			if err := errors.Join(err, unit.conn.Close()); err != nil {
				return err
			}
			if len(device.Models) == 0 {
				return fmt.Errorf("%s: unit %d has the SunSpec mark and no model behind it that could be read; is it the right unit?", w.endpoint, t.UnitID)
			}
			_, err = cmd.OutOrStdout().Write(device.Inventory(t))
			return err
		},
	}
	targetFlags(cmd, &t)
	w.flags(cmd.Flags())
	return cmd
}
