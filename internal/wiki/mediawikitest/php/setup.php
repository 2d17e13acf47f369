<?php
// Makes the users of the template that all servers are copied from.

require_once getenv( 'MW_INSTALL_PATH' ) . '/maintenance/Maintenance.php';
require_once __DIR__ . '/control.php';

class Setup extends Maintenance {
	public function execute() {
		foreach ( json_decode( getenv( 'MEDIAWIKITEST_USERS' ), true ) as $user ) {
			Control::addUser( $user['name'], $user['password'], $user['groups'] ?? [] );
		}
	}
}

$maintClass = Setup::class;
require_once RUN_MAINTENANCE_IF_MAIN;
