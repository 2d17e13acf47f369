package main

// people send answers. The first are the users of the examples, and alice is the one
// whom README asks to sign in as. The others are their colleagues, who can't sign in.
var people = []string{
	"Alice Archer", "Bob Baker", "Carol Chen", "Dana Duarte", "Erik Eriksen", "Fatima Farah", "Goran Galic",
	"Hana Hayashi", "Ines Ibarra", "Jonas Jung", "Katya Kowal", "Liam Lynch", "Mira Mehta", "Noah Nowak", "Olga Orlova",
	"Pedro Prado", "Quinn Quist", "Rosa Romano", "Samir Said", "Tara Thomas", "Uwe Unger", "Vera Vogel", "Wei Wang",
	"Xenia Xanthos", "Yara Yilmaz", "Zoe Zeller", "Anton Adler", "Bianca Bruni", "Cem Celik", "Doris Dietz",
}

const users = 3 // of the people

// texts are answers by the id of their field, and its language where that matters.
var texts = map[string][]string{
	"comment": {
		"A calm sprint. We finished what we had planned.",
		"The pairing sessions helped a lot. More of that, please.",
		"Too many meetings on Tuesday, but the demo went well.",
		"The new build is twice as fast. Thank you!",
		"I liked that we wrote down decisions at once.",
		"Reviews took long. Could we agree on a day?",
		"Good mood, good coffee, and the release was on time.",
		"The on-call week was quiet.",
		"We should talk about the estimates. They were off again.",
		"The retrospective was honest and useful.",
		"Nothing to complain about.",
		"The test environment was down for two days.",
	},
	"reason": {
		"The requirements changed twice in one week.",
		"I waited three days for a review.",
		"The test environment was down, and nobody felt responsible.",
		"Too much at the same time.",
		"We did not speak about the outage at all.",
	},
	"explanation": {
		"I am moving to another flat.",
		"A day for my sister's wedding.",
		"Jury duty, the letter follows.",
		"Two days for an exam.",
	},
	"improve": {
		"Blinds on the south side.", "A second coffee machine.", "More small rooms for calls.", "Plants!",
		"Doors that close quietly.", "Bicycle racks with a roof.", "Fresh air in the large meeting room.",
	},
	"improve.de": {
		"Jalousien auf der Südseite.", "Eine zweite Kaffeemaschine.", "Mehr kleine Räume zum Telefonieren.", "Pflanzen!",
		"Türen, die leise schließen.", "Fahrradständer mit Dach.",
	},
	"substitute": {"Paul", "Nadia", "Otto", "Lena", "Ravi", "Sofia"},
	"wish":       {"Something vegetarian", "Ice cream!", "Less meat, more salad", "Lemonade", "Gluten-free cake"},
}
