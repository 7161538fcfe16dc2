"""Twenty-six small tables of business and science to ask questions about.

Texts hold letters, digits, spaces and hyphens only, so that no quoting rule of a database or of an answer
format gets in the way of the question asked.
"""

from __future__ import annotations

from perdure.pipelines.database.scenarios import (
    Scenario,
    counting_up,
    date_in,
    named,
    one_of,
    whole_number,
)

_PEOPLE = (
    "Ada Brandt, Bela Okafor, Carmen Ruiz, Deniz Aydin, Elif Kaya, Farid Nasser, Greta Lind, Hugo Marchand, "
    "Ines Pereira, Jonas Vogel, Kaito Mori, Leila Haddad, Marek Novak, Nadia Petrov, Oskar Lund, Priya Nair, "
    "Quentin Roy, Rosa Bianchi, Samir Patel, Tove Holm, Umar Siddiqui, Vera Kozlov, Wen Zhao, Yara Costa, "
    "Zofia Wrona"
)
_TOWNS = "Arlen, Brookside, Cedarton, Dunmore, Eastvale, Fairhaven"

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "bakery_orders",
        "order",
        "orders",
        (
            counting_up("order_id", 501),
            named("customer", _PEOPLE),
            one_of("pastry", "Croissant, Baguette, Danish, Brioche, Scone"),
            one_of("shop_branch", "Harbour, Market, Station"),
            whole_number("pieces", 1, 40),
            whole_number("price_cents", 150, 900, 25),
            date_in("pickup_date", 2024),
        ),
    ),
    Scenario(
        "reef_surveys",
        "survey",
        "surveys",
        (
            counting_up("survey_id", 1),
            one_of("reef_name", "Anchor Reef, Coral Garden, Lagoon Wall, Turtle Bank"),
            one_of("observer_team", "Blue, Green, Red"),
            whole_number("depth_m", 2, 40),
            whole_number("fish_count", 10, 400),
            whole_number("bleached_percent", 0, 90),
            date_in("survey_date", 2023),
        ),
    ),
    Scenario(
        "tram_trips",
        "trip",
        "trips",
        (
            counting_up("trip_id", 7001),
            one_of("line_name", "Line A, Line B, Line C, Line D"),
            one_of("day_type", "Weekday, Saturday, Sunday"),
            named("driver", _PEOPLE),
            whole_number("passengers", 5, 220),
            whole_number("delay_minutes", 0, 35),
        ),
    ),
    Scenario(
        "greenhouse_trials",
        "trial",
        "trials",
        (
            counting_up("trial_id", 31),
            one_of("crop", "Basil, Pepper, Spinach, Tomato"),
            one_of("light_regime", "Blue, Red, White"),
            whole_number("water_ml", 100, 900, 50),
            whole_number("yield_grams", 40, 980),
            whole_number("days_grown", 20, 90),
        ),
    ),
    Scenario(
        "museum_loans",
        "loan",
        "loans",
        (
            counting_up("loan_id", 90),
            named(
                "artwork",
                "Dawn Harbour, Glass Orchard, Iron Lilies, Night Ferry, Old Quarry, "
                "Paper Moon, Quiet Mill, Red Vineyard, Salt Road, Winter Gate",
            ),
            one_of("borrower_city", "Lisbon, Oslo, Prague, Turin"),
            one_of("art_form", "Painting, Print, Sculpture"),
            whole_number("insured_value", 1000, 90000, 500),
            whole_number("loan_weeks", 2, 52),
            date_in("start_date", 2022),
        ),
    ),
    Scenario(
        "clinic_visits",
        "visit",
        "visits",
        (
            counting_up("visit_id", 2001),
            named("patient", _PEOPLE),
            one_of("department", "Cardiology, Dermatology, Neurology, Pediatrics"),
            one_of("insurance_plan", "Basic, Family, Premium"),
            whole_number("wait_minutes", 3, 120),
            whole_number("bill_amount", 40, 900),
            date_in("visit_date", 2024),
        ),
    ),
    Scenario(
        "wind_turbines",
        "turbine",
        "turbines",
        (
            counting_up("turbine_id", 1),
            one_of("wind_farm", "Gale Point, Long Ridge, North Shoal"),
            one_of("maker", "Boreas, Nordal, Zephyr"),
            whole_number("hub_height_m", 60, 160, 5),
            whole_number("output_kw", 500, 6000, 50),
            whole_number("fault_count", 0, 25),
        ),
    ),
    Scenario(
        "library_checkouts",
        "checkout",
        "checkouts",
        (
            counting_up("checkout_id", 4100),
            named("reader", _PEOPLE),
            one_of("genre", "Biography, History, Mystery, Poetry"),
            one_of("home_branch", _TOWNS),
            whole_number("pages", 80, 900),
            whole_number("days_kept", 1, 60),
            whole_number("fine_cents", 0, 900, 50),
        ),
    ),
    Scenario(
        "soil_samples",
        "sample",
        "samples",
        (
            counting_up("sample_id", 301),
            one_of("field_name", "Creek, Hilltop, Meadow, Orchard"),
            one_of("soil_type", "Clay, Loam, Peat, Sand"),
            whole_number("nitrogen_ppm", 5, 90),
            whole_number("moisture_percent", 4, 60),
            whole_number("probe_depth_cm", 10, 120, 5),
        ),
    ),
    Scenario(
        "hotel_bookings",
        "booking",
        "bookings",
        (
            counting_up("booking_id", 8800),
            named("guest", _PEOPLE),
            one_of("room_class", "Double, Single, Suite"),
            one_of("booking_channel", "Agency, Phone, Website"),
            whole_number("nights", 1, 14),
            whole_number("total_price", 80, 2400, 10),
            date_in("arrival_date", 2025),
        ),
    ),
    Scenario(
        "telescope_nights",
        "observation",
        "observations",
        (
            counting_up("observation_id", 1),
            one_of("target_object", "Andromeda, Crab Nebula, Ring Nebula, Sombrero, Whirlpool"),
            one_of("filter_band", "Blue, Infrared, Visible"),
            named("astronomer", _PEOPLE),
            whole_number("exposure_s", 30, 1800, 30),
            whole_number("seeing_score", 1, 10),
        ),
    ),
    Scenario(
        "courier_parcels",
        "parcel",
        "parcels",
        (
            counting_up("parcel_id", 60001),
            one_of("destination", _TOWNS),
            one_of("service_level", "Economy, Express, Standard"),
            one_of("parcel_state", "Delivered, In Transit, Lost"),
            whole_number("weight_grams", 100, 9000, 50),
            whole_number("distance_km", 5, 800),
            date_in("posted_date", 2024),
        ),
    ),
    Scenario(
        "school_exams",
        "exam result",
        "exam results",
        (
            counting_up("result_id", 1),
            named("student", _PEOPLE),
            one_of("subject", "Biology, Chemistry, Geography, Physics"),
            one_of("class_group", "9A, 9B, 10A, 10B"),
            whole_number("score", 20, 100),
            whole_number("absences", 0, 15),
        ),
    ),
    Scenario(
        "recycling_loads",
        "load",
        "loads",
        (
            counting_up("load_id", 700),
            one_of("material", "Cardboard, Glass, Metal, Plastic"),
            one_of("district", _TOWNS),
            whole_number("weight_kg", 50, 3000, 10),
            whole_number("contamination_percent", 0, 40),
            date_in("collected_on", 2023),
        ),
    ),
    Scenario(
        "film_screenings",
        "screening",
        "screenings",
        (
            counting_up("screening_id", 101),
            named(
                "film_title",
                "Amber Coast, Broken Compass, City of Kites, Desert Radio, "
                "Echo Valley, First Snow, Golden Ladder, Hidden Tide, Island Clock, Last Orchard",
            ),
            one_of("hall", "Grand, Loft, Studio"),
            one_of("audience_rating", "All Ages, Mature, Teen"),
            whole_number("tickets_sold", 4, 240),
            whole_number("ticket_price", 6, 22),
            whole_number("running_minutes", 75, 190),
        ),
    ),
    Scenario(
        "river_gauges",
        "reading",
        "readings",
        (
            counting_up("reading_id", 1),
            one_of("river_name", "Alder, Birch, Maple, Willow"),
            one_of("station_code", "G1, G2, G3, G4, G5"),
            whole_number("level_cm", 40, 620),
            whole_number("flow_rate", 5, 300),
            date_in("reading_date", 2024),
        ),
    ),
    Scenario(
        "car_rentals",
        "rental",
        "rentals",
        (
            counting_up("rental_id", 3300),
            named("renter", _PEOPLE),
            one_of("car_class", "Compact, Electric, Sedan, Van"),
            one_of("pickup_office", "Airport, Downtown, Seaport"),
            whole_number("rental_days", 1, 21),
            whole_number("mileage_km", 20, 2800, 20),
            whole_number("daily_rate", 25, 140, 5),
        ),
    ),
    Scenario(
        "bee_hives",
        "hive",
        "hives",
        (
            counting_up("hive_id", 11),
            one_of("apiary", "Clover Hill, Lime Grove, Thyme Field"),
            one_of("queen_line", "Buckfast, Carniolan, Ligurian"),
            whole_number("honey_grams", 500, 32000, 250),
            whole_number("mite_count", 0, 60),
            whole_number("frame_count", 5, 20),
        ),
    ),
    Scenario(
        "support_tickets",
        "ticket",
        "tickets",
        (
            counting_up("ticket_id", 15000),
            named("agent_name", _PEOPLE),
            one_of("product", "Mobile App, Router, Web Portal"),
            one_of("priority_level", "High, Low, Medium, Urgent"),
            one_of("ticket_state", "Closed, Open, Waiting"),
            whole_number("reply_count", 0, 18),
            whole_number("hours_open", 1, 240),
        ),
    ),
    Scenario(
        "chemistry_stock",
        "reagent",
        "reagents",
        (
            counting_up("reagent_id", 1),
            named(
                "compound",
                "Acetone, Benzene, Citric Acid, Ethanol, Glycerol, Hexane, Iodine, "
                "Methanol, Phenol, Toluene, Urea, Xylene",
            ),
            one_of("cabinet", "C1, C2, C3, C4"),
            one_of("hazard_class", "Corrosive, Flammable, Harmless, Toxic"),
            whole_number("volume_ml", 50, 5000, 50),
            whole_number("purity_percent", 80, 100),
            date_in("expiry_date", 2026),
        ),
    ),
    Scenario(
        "marathon_runners",
        "runner",
        "runners",
        (
            counting_up("bib_number", 1),
            named("runner_name", _PEOPLE),
            one_of("age_band", "Junior, Open, Senior, Veteran"),
            one_of("club", "Comets, Falcons, Harriers, Striders"),
            whole_number("finish_minutes", 135, 330),
            whole_number("training_weeks", 4, 40),
        ),
    ),
    Scenario(
        "coffee_lots",
        "lot",
        "lots",
        (
            counting_up("lot_id", 210),
            one_of("origin", "Brazil, Colombia, Ethiopia, Kenya, Peru"),
            one_of("drying_method", "Honey, Natural, Washed"),
            whole_number("cup_score", 70, 95),
            whole_number("bags", 5, 320),
            whole_number("altitude_m", 800, 2200, 50),
        ),
    ),
    Scenario(
        "machine_repairs",
        "repair",
        "repairs",
        (
            counting_up("repair_id", 1),
            one_of("machine_type", "Drill, Lathe, Mill, Press"),
            named("technician", _PEOPLE),
            one_of("outcome", "Deferred, Fixed, Replaced"),
            whole_number("labour_hours", 1, 30),
            whole_number("parts_cost", 0, 1900, 10),
            date_in("repair_date", 2024),
        ),
    ),
    Scenario(
        "bird_ringings",
        "ringing",
        "ringings",
        (
            counting_up("ring_number", 45000),
            one_of("species", "Blackbird, Finch, Robin, Starling, Wren"),
            one_of("ringing_site", "Dune, Marsh, Woodland"),
            one_of("sex", "Female, Male"),
            whole_number("wing_mm", 48, 140),
            whole_number("mass_grams", 8, 120),
            date_in("ringed_on", 2022),
        ),
    ),
    Scenario(
        "payroll_entries",
        "payroll entry",
        "payroll entries",
        (
            counting_up("entry_id", 1),
            named("employee", _PEOPLE),
            one_of("division", "Finance, Logistics, Research, Sales"),
            one_of("contract_type", "Full Time, Part Time, Temporary"),
            whole_number("base_salary", 1800, 7200, 100),
            whole_number("overtime_hours", 0, 40),
            whole_number("bonus", 0, 1500, 50),
        ),
    ),
    Scenario(
        "farm_auctions",
        "auction lot",
        "auction lots",
        (
            counting_up("auction_lot", 1),
            one_of("animal", "Cow, Goat, Horse, Sheep"),
            one_of("market_town", _TOWNS),
            named("seller", _PEOPLE),
            whole_number("head_count", 1, 60),
            whole_number("hammer_price", 50, 5000, 10),
        ),
    ),
)
"""All scenarios, in a fixed order."""
