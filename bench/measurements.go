package main

// tables are the measurements, in the order that they run. An entry is all that a new one needs.
var tables = []table{
	{"What you can rely on", []measurement{
		{name: "create", title: "Submissions stored per second for 64 clients, SQLite", engine: sqlite, task: creates(manyConns), rivals: []rival{
			{program: pocketBase, atLeast: 6}, {program: durablePocketBase, atLeast: 8},
		}},
		{name: "create-one", title: "Submissions stored per second for 1 client, SQLite", engine: sqlite, task: creates(1), rivals: []rival{
			{program: durablePocketBase, atLeast: 2},
		}},
		{name: "create-postgres", title: "Submissions stored per second for 64 clients, PostgreSQL", engine: postgres, task: creates(manyConns), rivals: []rival{
			{program: plainServer{}, atLeast: 1},
		}},
		{name: "read", title: "Submissions read per second by 64 clients, SQLite", engine: sqlite, store: few, task: reads(manyConns), rivals: []rival{
			{program: pocketBase, atLeast: 6},
		}},
		{name: "list", title: "A list of 100,000 submissions, SQLite", engine: sqlite, store: many, task: readLists, rivals: []rival{
			{program: pocketBase, atLeast: 12},
		}},
		{name: "uploads", title: "Submissions stored per second while ten files of 25 MiB are uploaded, SQLite", engine: sqlite, task: beside(upload), rivals: []rival{
			{name: "without uploads", task: creates(manyConns), atLeast: 0.5},
		}},
		{name: "page", title: "A page of results with 50 of {rows} submissions", engine: sqlite, store: all, task: openResults, within: 20},
		{name: "size", engine: sqlite, store: all, sizes: []size{
			{"Start of the server with {rows} submissions", " ms", 100, startTime},
			{"Memory at rest with {rows} submissions", " MiB", 64, memoryAtRest},
			{"More memory while all {rows} are exported", " MiB", 64, memoryToList},
		}},
	}},
	{"Questions over many answers", []measurement{
		{name: "filter", title: "A filter without a match in {rows} submissions", engine: sqlite, store: all, task: ask("filter"), rivals: []rival{
			{program: pocketBase, atLeast: 0.1},
		}},
		{name: "sort", title: "The first 50 of {rows} submissions, sorted by number", engine: sqlite, store: all, task: ask("sort"), rivals: []rival{
			{program: pocketBase, atLeast: 0.1},
		}},
		{name: "search", title: "A search without a match in {rows} submissions", engine: sqlite, store: all, task: ask("search"), rivals: []rival{
			{program: pocketBase, atLeast: 0.2},
		}},
		{name: "count", title: "The number of matches in {rows} submissions", engine: sqlite, store: all, task: ask("count"), rivals: []rival{
			{name: "a list of all", task: ask("list"), atLeast: 0.6},
		}},
		{name: "summary", title: "A summary of {rows} submissions", engine: sqlite, store: all, task: ask("summary"), rivals: []rival{
			{name: "a list of all", task: ask("list"), atLeast: 0.3},
		}},
		{name: "summary-by", title: "A summary of {rows} submissions by ten options", engine: sqlite, store: all, task: ask("summary by"), rivals: []rival{
			{name: "a summary", task: ask("summary"), atLeast: 0.33},
		}},
		{name: "summary-by-many", title: "A summary of 20,000 submissions by 1,000 options", engine: sqlite, store: withOptions, task: ask("options by"), rivals: []rival{
			{name: "a summary", task: ask("options"), atLeast: 0.33},
		}},
		{name: "filtered-page", title: "The first 50 matches in {rows} submissions", engine: sqlite, store: all, task: ask("page"), within: 20},
	}},
	{"Held for developers", []measurement{
		{name: "create-one-postgres", title: "Submissions stored per second for 1 client, PostgreSQL", engine: postgres, task: creates(1), rivals: []rival{
			{program: plainServer{}, atLeast: 0.35},
		}},
		{name: "read-postgres", title: "Submissions read per second by 64 clients, PostgreSQL", engine: postgres, store: few, task: reads(manyConns), rivals: []rival{
			{name: "SQLite", program: formulary{name: "Formulary", engine: sqlite}, atLeast: 0.25},
		}},
		{name: "list-postgres", title: "A list of 100,000 submissions, PostgreSQL", engine: postgres, store: many, task: readLists, rivals: []rival{
			{name: "SQLite", program: formulary{name: "Formulary", engine: sqlite}, atLeast: 0.4},
		}},
		{name: "list-of-one", title: "Lists of one submission per second, 32 clients, SQLite", engine: sqlite, store: few, task: listsOfOne, rivals: []rival{
			{name: "reads", task: reads(listConns), atLeast: 0.45},
		}},
		{name: "list-of-one-postgres", title: "Lists of one submission per second, 32 clients, PostgreSQL", engine: postgres, store: few, task: listsOfOne, rivals: []rival{
			{name: "reads", task: reads(listConns), atLeast: 0.35},
		}},
		{name: "uploads-postgres", title: "Submissions stored per second while ten files of 25 MiB are uploaded, PostgreSQL", engine: postgres, task: beside(upload), rivals: []rival{
			{name: "without uploads", task: creates(manyConns), atLeast: 0.45},
		}},
		{name: "limited-postgres", title: "Submissions stored per second beside 64 clients of a form with a limit, PostgreSQL", engine: postgres, task: beside(sendLimited), rivals: []rival{
			{name: "without them", task: creates(manyConns), atLeast: 0.5},
		}},
		{name: "hook", title: "Submissions stored per second with a webhook, SQLite", engine: sqlite, hook: true, task: onlyInTurn(creates(manyConns)), rivals: []rival{
			{program: formulary{name: "without a webhook", engine: sqlite}, task: creates(manyConns), atLeast: 0.6},
		}},
		{name: "hook-postgres", title: "Submissions stored per second with a webhook, PostgreSQL", engine: postgres, hook: true, task: onlyInTurn(creates(manyConns)), rivals: []rival{
			{program: formulary{name: "without a webhook", engine: postgres}, task: creates(manyConns), atLeast: 0.45},
		}},
		// It stores more in the store that others read, so it is the last.
		{name: "slow-reader", title: "Submissions stored per second beside a slow reader of {rows}, SQLite", engine: sqlite, store: all, task: beside(readSlowly), rivals: []rival{
			{name: "without the reader", task: creates(manyConns), atLeast: 0.7},
		}},
	}},
}

// table is a table of the results.
type table struct {
	title        string
	measurements []measurement
}

// measurement is one thing that is measured on Formulary. Its rivals take turns with it.
type measurement struct {
	name   string // for -only
	title  string // {rows} becomes the number of submissions in the store
	engine engine
	hook   bool
	store  store
	task   task
	within float64 // milliseconds that the median may take; 0 for no limit
	rivals []rival
	sizes  []size // in place of all from the task on
}

// rival is a program, by default Formulary itself, with a task, by default the same.
type rival struct {
	name    string // by default the program's
	program program
	task    task
	atLeast float64 // times its rate, that Formulary must reach
}

// store is what a program holds before it is measured. Measurements share a store by its name.
type store struct {
	name string
	rows int64
	fill *message // by default the program's message for a create
}

const (
	readRows = 10_000
	listRows = 100_000
)

var (
	few         = store{name: "few", rows: readRows}
	many        = store{name: "many", rows: listRows}
	all         = store{name: "all", rows: -1} // as many as the flag -rows says
	withOptions = store{name: "options", rows: 20_000, fill: &createOption}
)

// contenders are Formulary and its rivals. With -before they are Formulary, the older binary, and that once
// more as the control.
func (m *measurement) contenders(b *bench) []rival {
	mine := formulary{"Formulary", m.engine, m.hook}
	contenders := []rival{{program: mine}}
	if b.before == "" {
		contenders = append(contenders, m.rivals...)
	} else {
		contenders = append(contenders, rival{program: formulary{before, m.engine, m.hook}}, rival{program: formulary{control, m.engine, m.hook}})
	}
	for i := range contenders {
		r := &contenders[i]
		if r.program == nil {
			r.program = mine
		}
		if r.task == nil {
			r.task = m.task
		}
		if r.name == "" {
			r.name = r.program.String()
		}
	}
	return contenders
}
